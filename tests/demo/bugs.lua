-- SPDX-License-Identifier: MIT
-- The bugs that `make demo BUG=n` plants in the kernel that was just written. Each is an edit of the text by plain matching;
-- nothing here knows how a bug is repaired. An edit that finds nothing to change returns nil.

-- Replace the first match of a Lua pattern.
local function swap(pattern, replacement)
  return function(text)
    local out <const>, n <const> = text:gsub(pattern, replacement, 1)
    return n == 1 and out or nil
  end
end

return {
  {
    name = "a reduction result handed to nisa.tensor_tensor as if it broadcast",
    plant = swap("nisa%.tensor_scalar%(dst=(out_t), data=([%w_]+), op0=nl%.multiply, operand0=([%w_]+)%)",
      "nisa.tensor_tensor(dst=%1, data1=%2, data2=%3, op=nl.multiply)"),
  },
  { name = "a call without dst=", plant = swap("nisa%.reciprocal%(dst=[%w_]+, ", "nisa.reciprocal(") },
  { name = "a tile of more than 128 partitions", plant = swap("P = 128 ", "P = 256 ") },
  { name = "a misspelt function", plant = swap("nisa%.tensor_reduce", "nisa.tensor_reduction") },
  { name = "a wrong keyword", plant = swap("operand0=scale", "operand=scale") },
  { name = "a NumPy operator inside the kernel", plant = swap("op=nl%.exp", "op=np.exp") },
  { name = "the last row tile not clamped to the rows there are", plant = swap("min%(P, rows %- r%)", "P") },
  { name = "the scale left out (a wrong answer that builds)", plant = swap("operand0=scale", "operand0=1.0") },
  { name = "the maximum not negated (a wrong answer that builds)", plant = swap(", negate=True", "") },
}
