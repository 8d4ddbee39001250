-- SPDX-License-Identifier: MIT
-- profile.report.html: text and numbers as HTML. Everything that comes from a profile goes through escape(): names, source
-- and operands of a stranger's file must never become markup.

local html <const> = {}

local special <const> = { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ['"'] = "&quot;", ["'"] = "&#39;" }

-- Text safe in an element and in a quoted attribute; control characters and broken UTF-8 become "?".
function html.escape(text)
  text = tostring(text):gsub("[%z\1-\8\11\12\14-\31\127]", "?")
  if not utf8.len(text) then text = text:gsub("[\128-\255]", "?") end
  return (text:gsub("[&<>\"']", special))
end

local scales <const> = { { 1e9, "s" }, { 1e6, "ms" }, { 1e3, "µs" }, { 1, "ns" } }

-- Nanoseconds for people: three significant digits and the unit.
function html.duration(ns)
  if not ns then return "–" end
  for _, scale in ipairs(scales) do
    if math.abs(ns) >= scale[1] then return ("%s %s"):format(html.digits(ns / scale[1]), scale[2]) end
  end
  return ("%s ns"):format(html.digits(ns))
end

-- Three significant digits without an exponent between 0.001 and a million.
function html.digits(value)
  if value == 0 then return "0" end
  local size <const> = math.abs(value)
  if size >= 1e6 or size < 1e-3 then return ("%.3g"):format(value) end
  if size >= 99.95 then return ("%.0f"):format(value) end
  return size >= 9.995 and ("%.1f"):format(value) or ("%.2f"):format(value)
end

function html.bytes(value)
  if not value then return "–" end
  local units <const> = { "B", "kB", "MB", "GB", "TB" }
  local i = 1
  while value >= 1000 and i < #units do
    value, i = value / 1000, i + 1
  end
  return (i == 1 and ("%.0f %s"):format(value, units[i])) or ("%s %s"):format(html.digits(value), units[i])
end

function html.percent(fraction)
  if not fraction then return "–" end
  return ("%s %%"):format(fraction >= 0.0995 and ("%.0f"):format(fraction * 100) or ("%.1f"):format(fraction * 100))
end

-- Whole numbers with thin spaces between thousands.
function html.count(value)
  if not value then return "–" end
  local text = ("%.0f"):format(value)
  text = text:reverse():gsub("(%d%d%d)", "%1 "):reverse()
  return (text:gsub("^ ", ""))
end

-- The engines in the order of the page: key as the profile writes it in lower case, title, CSS class.
html.engines = {
  { key = "tensor", title = "Tensor", class = "e-tensor" },
  { key = "vector", title = "Vector", class = "e-vector" },
  { key = "scalar", title = "Scalar", class = "e-scalar" },
  { key = "gpsimd", title = "GpSimd", class = "e-gpsimd" },
  { key = "sync", title = "Sync", class = "e-sync" },
  { key = "dma", title = "DMA", class = "e-dma" },
}

return html
