-- SPDX-License-Identifier: MIT
local t <const> = require "tests.lib"
local reload <const> = require "reload"

-- Files are {text=, n=}: n changes with every save. A text "bad" does not load.
local function world()
  local w <const> = { files = {}, events = {}, loads = 0 }
  function w.save(path, text) w.files[path] = { text = text, n = (w.files[path] and w.files[path].n or 0) + 1 } end
  w.store = reload.new {
    load = function(key)
      w.loads = w.loads + 1
      local file <const> = w.files[key]
      if not file then return nil, { code = "not_found", message = "gone" }, { key } end
      if w.during then w.during() end
      if file.text == "bad" then return nil, { code = "bad-skill", message = "line 3" }, { key } end
      if file.text == "raise" then error({ code = "bad-skill", message = "raised" }) end
      return { text = file.text }, { key, key .. ".helper" }
    end,
    signature = function(path) return w.files[path] and tostring(w.files[path].n) end,
    on_event = function(e) w.events[#w.events + 1] = e.kind .. e.id end,
  }
  return w
end

t.test("a change is swapped in, work in flight keeps its value", function()
  local w <const> = world()
  w.save("a", "one")
  local first <const> = w.store:get("a")
  t.eq(w.store:get("a"), first)
  t.eq(w.loads, 1)
  w.save("a", "two")
  local second <const>, id <const> = w.store:get("a")
  t.eq(first.text, "one")
  t.eq(second.text, "two")
  t.eq(id, 2)
  t.eq(w.events, { "loaded1", "reloaded2" })
end)

t.test("a broken file keeps the old generation and is told once", function()
  local w <const> = world()
  w.save("a", "one")
  w.store:get("a")
  for _, text in ipairs { "bad", "raise" } do
    w.save("a", text)
    local value, id, err = w.store:get("a")
    t.eq(value.text, "one")
    t.eq(id, 1)
    t.eq(err.code, "bad-skill")
    value, id, err = w.store:get("a")
    t.eq(value.text, "one")
    t.ok(err)
    t.eq(id, 1)
  end
  w.files.a = nil
  local _, _, gone <const> = w.store:get("a")
  t.eq(gone.code, "not_found")
  w.files.a = { text = "three", n = 9 }
  t.eq(w.store:get("a").text, "three")
  t.eq(w.events, { "loaded1", "broken1", "broken1", "broken1", "mended2" })
end)

t.test("never good: an error until it is", function()
  local w <const> = world()
  w.save("a", "bad")
  local value, err = w.store:get("a")
  t.eq(value, nil)
  t.eq(err.message, "line 3")
  w.store:get("a")
  t.eq(w.loads, 1)
  w.save("a", "one")
  t.eq(w.store:get("a").text, "one")
end)

t.test("a helper file counts, also one that appears later", function()
  local w <const> = world()
  w.save("a", "one")
  w.store:get("a")
  w.save("a.helper", "x")
  w.store:get("a")
  t.eq(w.loads, 2)
end)

t.test("a save while loading is not lost", function()
  local w <const> = world()
  w.save("a", "one")
  w.store:get("a")
  w.during = function()
    w.during = nil
    w.save("a", "three")
  end
  w.save("a", "two")
  t.eq(w.store:get("a").text, "two")
  t.eq(w.store:get("a").text, "three")
end)

t.test("poll looks at everything loaded", function()
  local w <const> = world()
  w.save("a", "one")
  w.save("b", "one")
  w.store:get("a")
  w.store:get("b")
  t.eq(w.store:poll(), 0)
  w.save("b", "two")
  t.eq(w.store:poll(), 1)
end)
