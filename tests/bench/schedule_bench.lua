-- SPDX-License-Identifier: MIT
-- How fast the schedule model is: a generated program of a million instructions (loads, matmuls, Scalar and Vector work, in
-- tiles of their own), recorded once and scheduled; then its columns. Returns a function that prints.

local kit <const> = require "tests.unit.nki_kit"
local targets <const> = require "nki.targets"
local task <const> = require "rt.task"

local COUNT <const> = 1000000

-- The machine with the program recorded.
local function program()
  local k <const> = kit.machine { execute = false }
  local x <const> = k.m:input("x", nil, "bfloat16", { 128, 512 })
  local left <const> = k.new({ 128, 128 }, "bfloat16")
  k.f.memset(left, 0, k.enum.engine.vector)
  local vector <const> = k.enum.engine.vector
  for _ = 1, COUNT // 6 do
    local a <const> = k.new({ 128, 512 }, "bfloat16")
    k.f.dma_copy(a, x)
    local p <const> = k.new({ 128, 512 }, "float32", "psum")
    k.f.nc_matmul(p, left, a)
    local b <const>, c <const> = k.new({ 128, 512 }), k.new({ 128, 512 })
    k.f.activation(b, k.op.exp, p)
    k.f.tensor_tensor(c, b, b, k.op.add, vector)
    k.f.tensor_scalar(c, c, k.op.multiply, 2, false, k.op.add, 1, false, vector)
    k.f.nc_matmul(k.new({ 128, 512 }, "float32", "psum"), left, a)
  end
  return k.m
end

return function()
  local machine <const> = program()
  local least, timeline
  for _ = 1, 3 do
    collectgarbage()
    local began <const> = task.now()
    timeline = assert(machine:schedule(targets.get("trn2").schedule))
    local took <const> = task.now() - began
    if not least or took < least then least = took end
  end
  print(("%-46s %10.0f instructions/s (%d)   goal 1,000,000/s"):format("schedule", timeline.count / least, timeline.count))
  local began <const> = task.now()
  timeline:instructions()
  timeline:flows()
  timeline:packets()
  print(("%-46s %10.0f rows/s"):format("columns of that timeline", timeline.rows / (task.now() - began)))
end
