-- SPDX-License-Identifier: MIT
-- The writer: every reference of tests/kernels/written becomes a proved kernel or is refused by name; each input is read once
-- and each output written once, with DMA rows as long as the row; long rows change the plan, not the answer.

local t <const> = require "tests.lib"
local write <const> = require "work.write"

local expected <const> = require "tests.kernels.written.expected"
local FOLDER <const> = "tests/kernels/written/"

local function run(fields)
  local request <const> = { cases = fields.cases, reference = fields.reference, reference_function = fields.fn, plan = fields.plan,
    source = fields.source, distributions = fields.distributions or 3, private_seed = 99, out_dtype = fields.out_dtype }
  local result <const>, err <const> = write.run(request)
  t.ok(result, err and ("%s (%s:%s)"):format(tostring(err.message), tostring(err.file), tostring(err.line)))
  return result
end

local function story(result)
  local lines <const> = { tostring(result.verdict), result.summary or "" }
  if result.refused then lines[#lines + 1] = result.refused.message end
  for _, d in ipairs(result.diagnostics or {}) do lines[#lines + 1] = ("line %s: %s"):format(tostring(d.line), d.message) end
  lines[#lines + 1] = result.text
  return table.concat(lines, "\n")
end

-- From the record: what was read and written of each tensor.
local function check_traffic(result)
  for i, tensors in ipairs(result.traffic) do
    for _, tensor in ipairs(tensors) do
      if tensor.role == "input" then
        t.eq(tensor.read, tensor.bytes, ("case %d: bytes read of %s"):format(i, tensor.name))
      elseif tensor.role == "output" then
        t.eq(tensor.written, tensor.bytes, ("case %d: bytes written of an output"):format(i))
      end
    end
  end
end

-- Under sanitizers every sixth reference: they go through the same C code, ten times slower.
local every <const> = os.getenv("NKILN_SANITIZED") and 6 or 1

for number, row in ipairs(expected) do
  if number % every == 0 then t.test((row.torch and "torch " or "") .. row[1] .. " " .. row[2][1], function()
    local result <const> = run({ cases = row[2], reference = FOLDER .. (row.torch and "torch_" or row.file or "") .. "references.py", fn = row[1] })
    if row[3] == "proved" then
      t.ok(result.ok, story(result))
      t.eq(result.verdict, "proved")
      check_traffic(result)
      if row.plan then t.eq(result.plan, row.plan) end
      if row.uses then t.match(result.text, row.uses) end
      if row.rejects then t.ok(not result.text:find(row.rejects), "the kernel still has " .. row.rejects .. "\n" .. result.text) end
    else
      t.ok(result.refused, "not refused: " .. story(result))
      t.has(result.refused.message, row[3])
      t.ok(result.refused.line, "the refusal has no line")
      if row.expression then t.eq(result.refused.expression, row.expression) end
    end
  end) end
end

t.test("NumPy and PyTorch spellings of softmax give the same instructions", function()
  local function instructions(text)
    local list <const> = {}
    for name in text:gmatch("nisa%.([%w_]+)%(") do list[#list + 1] = name end
    return table.concat(list, " ")
  end
  local source <const> = "import numpy as np\ndef softmax(x):\n    def shift(v):\n        return v - v.max(-1, keepdims=True)\n"
    .. "    e = np.exp(shift(x))\n    return e / e.sum(axis=-1, keepdims=True)\n"
  local a <const> = run({ cases = { "x=f32[200,300]" }, source = source, reference = "a.py" })
  local b <const> = run({ cases = { "x=f32[200,300]" }, reference = FOLDER .. "torch_references.py", fn = "softmax" })
  t.eq(instructions(a.text), instructions(b.text))
end)

for _, plan in ipairs({ "resident", "stream" }) do
  for number, row in ipairs({
    { "rmsnorm", "x=bf16[20,5000], w=bf16[5000]" }, { "ent", "x=f32[20,4500]" }, { "cumsum", "x=f32[20,9001]" }, { "minmax",
      "x=f32[20,9000]" }, { "huber", "x=f32[20,9000], y=f32[20,9000]" },
    { "layernorm", "x=f32[20,6000], g=f32[6000], b=f32[6000]" }, { "two_out", "x=bf16[20,9000]" }, { "tri", "x=f32[300,300]" }, { "any_",
      "x=f32[20,9000]" }, { "masked", "x=f32[20,9000], m=bool[20,9000]" },
    { "joined_norm", "a=f32[20,10], b=f32[20,20], c=f32[20,30]", "judged_" }, { "rope_by_turns", "x=f32[20,64], c=f32[20,32], s=f32[20,32]", "judged_" },
    { "differences", "x=f32[20,5000]", "judged_" },
  }) do
    if number % every == 0 or every > 1 and number == 1 then t.test(("%s plan: %s"):format(plan, row[1]), function()
      local result <const> = run({ cases = { row[2] }, reference = FOLDER .. (row[3] or "") .. "references.py", fn = row[1], plan = plan, distributions = 3 })
      t.ok(result.ok, story(result))
      t.eq(result.plan, plan)
      if plan == "resident" then check_traffic(result) end
    end) end
  end
end

t.test("the plan follows the length of the row", function()
  local function plan_of(n) return run({ cases = { ("x=f32[2,%d]"):format(n) }, reference = FOLDER .. "references.py", fn = "ent", distributions = 1 }).plan end
  t.eq(plan_of(1024), "rows")
  t.eq(plan_of(30000), "resident")
  t.eq(plan_of(120000), "stream")
end)

t.test("a DMA moves whole rows: its runs are as long as the row allows", function()
  local session <const> = require "nki.session"
  local check <const> = require "nki.check"
  for _, row in ipairs({
    { "rmsnorm", "x=bf16[256,1024], w=bf16[1024]", 2048 }, { "layernorm", "x=f32[3,50,333], g=f32[333], b=f32[333]", 1332 },
    { "rmsnorm", "x=f32[20,9000], w=f32[9000]", 36000, "resident" },
  }) do
    local result <const> = run({ cases = { row[2] }, reference = FOLDER .. "references.py", fn = row[1], plan = row[4], distributions = 1 })
    t.ok(result.ok, story(result))
    local traced <const> = session.run({ path = "k.py", source = result.text, case = check.cases({ row[2] })[1], mode = "chip", execute = false })
    local copies = 0
    for i = 1, traced.record:len() do
      local instruction <const> = traced.record:get(i)
      if instruction.op == "dma_copy" then
        copies = copies + 1
        local loads <const> = instruction.operands[1].buffer == "sbuf"
        -- Rows kept whole are loaded whole; a resident row's results are stored chunk by chunk.
        if loads or not row[4] then t.eq(instruction.descriptor, row[3], row[2] .. ": bytes of a DMA's run") end
      end
    end
    t.ok(copies >= 3, "no DMA in the record")
  end
end)

t.test("bad input is named: no case, a case of another signature, an unknown type", function()
  local function err_of(request)
    local result <const>, err <const> = write.run(request)
    t.eq(result, nil)
    return err.message
  end
  local file <const> = FOLDER .. "references.py"
  t.has(err_of({ cases = {}, reference = file, reference_function = "softcap" }), "no case")
  t.has(err_of({ cases = { "y=f32[2,3]" }, reference = file, reference_function = "softcap" }), "no parameter y")
  t.has(err_of({ cases = { "x=f33[2,3]" }, reference = file, reference_function = "softcap" }), "f33")
  t.has(err_of({ cases = { "x=f32[2,3]" }, reference = file, reference_function = "nothing" }), "no function 'nothing'")
  t.has(err_of({ cases = { "x=f32[2,3]" }, reference = "no/such.py" }), "no such file")
  t.has(err_of({ cases = { "x=f32[2,3]", "x=int32[2,3]" }, reference = file, reference_function = "softcap" }), "different arguments")
end)

t.test("a reference that decides by data is refused with its line", function()
  local result <const> = write.run({ cases = { "x=f32[4,5]" }, reference = "d.py",
    source = "import numpy as np\ndef f(x):\n    if x.max() > 0:\n        return x\n    return -x\n" })
  t.eq({ result.ok, result.refused.file, result.refused.line, result.refused.expression }, { false, "d.py", 3, "x.max() > 0" })
  t.has(result.refused.message, "depends on the data")
end)
