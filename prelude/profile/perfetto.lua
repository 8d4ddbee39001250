-- SPDX-License-Identifier: MIT
-- profile.perfetto: a profile as Trace Event JSON, the format that ui.perfetto.dev and chrome://tracing open.
-- Source: "Trace Event Format" (catapult project): complete events "X" with ts and dur in microseconds, metadata "M", flow
-- events "s" and "f" that tie the instruction that starts a DMA to its transfer, counters "C".
--
--   for text in perfetto.pieces(page) do ... end      -- page of profile.report.collect; the texts joined are the file

local json <const> = require "rt.json"

local perfetto <const> = {}

local PIECE <const> = 4096 -- events of one text

-- process ids: 1 engines, 2 DMA engines
local function process_of(track) return track.engine == "dma" and 2 or 1 end

function perfetto.pieces(page)
  return coroutine.wrap(function()
    local out = {}
    local first = true
    local function event(value)
      out[#out + 1] = (first and "" or ",\n") .. json.encode(value)
      first = false
      if #out >= PIECE then
        coroutine.yield(table.concat(out))
        out = {}
      end
    end
    out[1] = '{"displayTimeUnit":"ns","otherData":' .. json.encode { kind = page.kind, title = page.title, case = page.own.case, target = page.own.target,
      model_version = page.own.model_version, made_by = "nkiln" } .. ',"traceEvents":[\n'
    local mark <const> = page.kind == "modelled" and " (modelled)" or ""
    event { ph = "M", pid = 1, name = "process_name", args = { name = page.title .. ": engines" .. mark } }
    event { ph = "M", pid = 2, name = "process_name", args = { name = page.title .. ": DMA engines" .. mark } }
    for i, track in ipairs(page.tracks) do
      event { ph = "M", pid = process_of(track), tid = i, name = "thread_name", args = { name = track.name } }
      event { ph = "M", pid = process_of(track), tid = i, name = "thread_sort_index", args = { sort_index = i } }
    end
    for i, track in ipairs(page.tracks) do
      local pid <const> = process_of(track)
      for k = 1, #track.start do
        local place <const> = page.places[track.line[k]]
        event { ph = "X", pid = pid, tid = i, name = page.labels[track.label[k] + 1], ts = (track.start[k] - page.t0) / 1000,
          dur = (track.finish[k] - track.start[k]) / 1000, args = place and { source = place.at, text = place.text } or nil }
      end
    end
    for _, kind in ipairs { "sbuf", "psum" } do
      local samples <const> = page.memory[kind]
      for k = 1, samples and #samples.at or 0 do
        event { ph = "C", pid = 1, name = kind:upper() .. " in use", ts = (samples.at[k] - page.t0) / 1000, args = { percent = samples.share[k] * 100 } }
      end
    end
    out[#out + 1] = "\n]}\n"
    coroutine.yield(table.concat(out))
  end)
end

return perfetto
