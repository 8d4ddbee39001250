-- SPDX-License-Identifier: MIT
-- The functions of nki.language inside kernels, against NumPy (tests/oracle/nki_language.py), in both modes; and what the
-- modules nki, nki.language and nki.isa offer.

local t <const> = require "tests.lib"
local array <const> = require "rt.array"
local case_module <const> = require "nki.case"
local json <const> = require "rt.json"
local session <const> = require "nki.session"

local PYTHON <const> = "/usr/bin/python3"

local function kernel(lines, params)
  return "import nki\nimport nki.isa as nisa\nimport nki.language as nl\n\n@nki.jit\ndef kernel(" .. params .. "):\n    "
    .. table.concat(lines, "\n    ") .. "\n"
end

local function run(source, case, options)
  local request <const> = { path = "kernel.py", source = source, case = assert(case_module.parse(case)), execute = true }
  for key, value in pairs(options or {}) do request[key] = value end
  return session.run(request)
end

local function problem(result)
  for _, d in ipairs(result.diagnostics) do
    if d.severity == "error" then return ("%s: line %s: %s"):format(d.code, d.line, d.message) end
  end
end

t.test("nl functions against NumPy, both modes", function()
  if os.execute(PYTHON .. " -c 'import numpy' 2>/dev/null") ~= true then t.skip("no NumPy here") end
  local folder <const> = t.tmpdir()
  local status <const>, _, err <const> = t.sh(PYTHON .. " tests/oracle/nki_language.py " .. t.quote(folder))
  t.eq(status, 0, err)
  local cases <const> = assert(json.decode(t.read(folder .. "/cases.json")))
  local data <const> = t.read(folder .. "/data.bin")
  local function values(ref) return array.from_bytes("float64", ref.shape, data:sub(ref.offset + 1, ref.offset + ref.count * 8)) end
  local failures <const> = {}
  for _, case in ipairs(cases) do
    local lines <const>, params <const>, args <const>, inputs <const> = {}, {}, {}, {}
    for i, tile in ipairs(case.tiles) do
      local name <const> = i == 1 and "x" or "x" .. i
      params[i] = name
      args[i] = ("%s=%s[%s]"):format(name, tile.dtype, table.concat(tile.data.shape, ","))
      inputs[name] = values(tile.data):cast(tile.dtype)
      lines[i] = ("%s = nl.load(%s)"):format(tile.name, name)
    end
    lines[#lines + 1] = "r = " .. case.expr
    lines[#lines + 1] = "out = nl.ndarray(r.shape, dtype=r.dtype, buffer=nl.shared_hbm)"
    lines[#lines + 1] = "nl.store(out, r)"
    lines[#lines + 1] = "return out"
    for _, mode in ipairs { "chip", "exact" } do
      local ok <const>, result <const> = pcall(run, kernel(lines, table.concat(params, ", ")), table.concat(args, ", "), { mode = mode, inputs = inputs })
      local why = not ok and t.show(result) or problem(result)
      if not why then
        local got <const>, want <const> = result.outputs[1].array:cast("float64"):totable(), values(case.want):totable()
        local rtol <const>, atol <const> = mode == "exact" and case.exact or case.rtol, mode == "exact" and case.exact or case.atol
        if #got ~= #want then why = ("%d elements, want %d"):format(#got, #want) end
        for i = 1, why and 0 or #want do
          if not (got[i] == want[i] or math.abs(got[i] - want[i]) <= atol + rtol * math.abs(want[i])) then
            why = ("[%d] is %.17g, want %.17g"):format(i - 1, got[i], want[i])
            break
          end
        end
      end
      if why then failures[#failures + 1] = ("%s (%s): %s"):format(case.expr, mode, why) end
    end
  end
  t.ok(#cases > 120, "too few cases: " .. #cases)
  t.eq(#failures, 0, ("of %d\n      %s"):format(#cases, table.concat(failures, "\n      ", 1, math.min(30, #failures))))
end)

local function code_of(lines, case, options)
  local result <const> = run(kernel(lines, "x"), case or "x=float32[64,32]", options)
  for _, d in ipairs(result.diagnostics) do
    if d.severity == "error" then return d.code, d end
  end
end

t.test("what tensors refuse", function()
  t.eq(code_of { "a = nl.load(x)", "return a + a" }, "tensor-operator")
  t.eq(code_of { "a = nl.load(x)", "return -a" }, "tensor-operator")
  t.has(select(2, code_of { "a = nl.load(x)", "return a / 2" }).message, "`/`")
  t.eq(code_of { "a = nl.load(x)", "if a:", "    return x", "return x" }, "tensor-in-condition")
  t.eq(code_of { "nl.add(1.0, 2.0)", "return x" }, "not-a-tensor")
  t.eq(code_of { "a = nl.load(x)", "nl.add(a, x)", "return x" }, "hbm-operand")
  t.eq(code_of { "nisa.topk(x, x, x, n=8)", "return x" }, "op-not-simulated")
  t.eq(code_of { "a = nl.load(x)", "nl.add(a, nl.load(x[0:64, 0:16]))", "return x" }, "shape-mismatch")
end)

t.test("assignment to a subscript copies", function()
  local source <const> = kernel({
    "a = nl.ndarray((64, 32), dtype=x.dtype, buffer=nl.sbuf)",
    "a[:, 0:16] = nl.load(x[:, 0:16])",
    "a[:, 16:32] = 2.5",
    "out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)",
    "out[...] = a",
    "return out",
  }, "x")
  local x <const> = array.random { dtype = "float32", shape = { 64, 32 }, seed = 3, dist = "normal" }
  local result <const> = run(source, "x=float32[64,32]", { inputs = { x = x } })
  t.eq(problem(result), nil)
  t.eq(result.outputs[1].array:get(5, 3), x:get(5, 3))
  t.eq(result.outputs[1].array:get(63, 31), 2.5)
end)

t.test("attributes, enums and sizes seen by kernels", function()
  local source <const> = kernel({
    "assert x.shape == (64, 32) and x.ndim == 2 and x.size == 2048 and x.dtype == nl.float32",
    "assert x.buffer == nl.shared_hbm and x.dtype != nl.bfloat16",
    "assert nl.tile_size.pmax == 128 and nl.tile_size.psum_bank_fmax == 512 and nl.tile_size.gemm_moving_fmax == 512",
    "assert nl.tile_size.sbuf_fmax_bytes == 212992 and nl.tile_size.psum_num_banks == 8",
    "assert nisa.get_nc_version() == nisa.nc_version.gen3 and nisa.get_nc_version() >= nisa.nc_version.gen2",
    "assert nisa.get_nc_version() != nisa.nc_version.gen4 and nisa.engine.vector.value == 5",
    "assert nisa.vector_engine == nisa.engine.vector and nisa.constants.oob_mode.skip == nisa.oob_mode.skip",
    "assert nl.program_id(0) == 0 and nl.num_programs(0) == 1 and nl.program_ndim() == 0",
    "assert nl.is_hbm(x.buffer) and not nl.is_sbuf(x.buffer) and nl.is_on_chip(nl.psum)",
    "t = nl.load(x)",
    "assert t.get_pattern() == [[32, 64], [1, 32]] and t.offset == 0 and t[32:64, 4:8].offset == 32 * 32 + 4",
    "assert t.reshape((64, 4, 8)).permute((0, 2, 1)).shape == (64, 8, 4) and t.strides == (32, 1)",
    "assert t[nl.ds(32, 32), nl.ds(8, 4)].shape == (32, 4)",
    "n = 0",
    "for i in nl.affine_range(4):",
    "    n += i",
    "for i in nl.static_range(1, 10, 4):",
    "    n += i",
    "assert n == 6 + 15",
    "print(f'{t.dtype} {t.shape}')",
    "out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)",
    "with nl.no_reorder():",
    "    nl.store(out, t)",
    "return out",
  }, "x")
  local result <const> = run(source, "x=float32[64,32]")
  t.eq(problem(result), nil)
  t.eq(result.printed, { "float32 (64, 32)" })
end)

t.test("every row of the tables is complete, and the machine knows what it executes", function()
  local isa <const>, language <const>, targets <const> = require "nki.isa", require "nki.language", require "nki.targets"
  local count = 0
  for name, row in pairs(isa.functions) do
    count = count + 1
    t.ok(row.summary and row.doc and row.since and row.params, name)
    if row.executes and row.tiles then
      local seen <const> = {}
      for _, p in ipairs(row.params) do seen[p.name] = true end
      for _, tile in ipairs(row.tiles) do t.ok(seen[tile.name], name .. "." .. tile.name) end
    end
  end
  t.eq(count, 52)
  for name, row in pairs(language.functions) do t.ok(row.summary and row.params, name) end
  for _, name in ipairs(targets.names()) do t.eq(targets.get(name).name, name) end
  t.eq(targets.get("trn4"), nil)
  t.eq(language.tile_size(targets.trn1).sbuf_fmax_bytes, 180224)
end)
