-- SPDX-License-Identifier: MIT
---@meta
-- The contract of `require "rt.array"`. Axes and indices count from 0, negative ones from the end. Wrong use raises a message
-- that names the operation and the shapes; so does a lack of memory. Operands may be numbers or booleans, which take the
-- other operand's type. Results are fresh arrays; slice, select, transpose, expand, squeeze, broadcast_to, view (and
-- reshape, contiguous where they can) share storage.

---@alias dtype "float64"|"float32"|"float16"|"bfloat16"|"tfloat32"|"float8_e4m3"|"float8_e4m3fn"|"float8_e5m2"|"int8"|"int16"|"int32"|"int64"|"uint8"|"uint16"|"uint32"|"bool"
---@alias operand rt.array|number|boolean
---@alias shape integer[]|integer

---@class rt.array
---@field dtype dtype
---@field shape integer[] a new table each time
---@field ndim integer
---@field size integer elements
---@field nbytes integer
---@field contiguous_view boolean row-major without gaps
---@field at fun(self, linear: integer): number|boolean
---@field item fun(self): number|boolean the only element
---@field get fun(self, ...: integer): number|boolean
---@field set fun(self, value: number|boolean, ...: integer)
---@field totable fun(self): table flat, row-major
---@field bytes fun(self): string row-major element bytes
---@field hash fun(self): integer of type, shape and every bit
---@field cast fun(self, dtype: dtype): rt.array as NumPy's astype
---@field chip_cast fun(self, dtype: dtype): rt.array float to integer rounds to nearest even and saturates
---@field copy fun(self): rt.array
---@field contiguous fun(self): rt.array
---@field reshape fun(self, shape: shape, view_only?: boolean): rt.array one length may be -1
---@field transpose fun(self, axes?: integer[]): rt.array
---@field slice fun(self, axis: integer, start?: integer, stop?: integer, step?: integer): rt.array as Python's slice
---@field select fun(self, axis: integer, index: integer): rt.array
---@field expand fun(self, axis: integer): rt.array
---@field squeeze fun(self, axis?: integer): rt.array
---@field broadcast_to fun(self, shape: shape): rt.array
---@field view fun(self, dtype: dtype): rt.array the same bits as another type of the same size
---@field fill fun(self, value: operand): rt.array itself
---@field assign fun(self, value: operand): rt.array itself; broadcasts and converts
---@field close fun(self) releases the storage; may be repeated

local array = {}

---@param fill? operand zeros without it
---@return rt.array
function array.new(dtype, shape, fill) end
---@param values table flat, row-major
---@return rt.array
function array.from(dtype, shape, values) end
---@return rt.array
function array.from_bytes(dtype, shape, bytes) end
-- arange(stop) or arange(start, stop, step, dtype)
---@return rt.array
function array.arange(start, stop, step, dtype) end
-- request: dtype, shape, seed, dist, scale, mean, low, high; dist: normal uniform all_equal large tiny signed_zeros outlier
-- integers cancellation nan_row inf_row hot_row hot_column extremes. Second result: the row, column or element singled out.
---@return rt.array, integer?
function array.random(request) end

-- op: negative abs square reciprocal sqrt rsqrt cbrt exp exp2 expm1 log log2 log10 log1p sin cos tan arcsin arccos arctan sinh
-- cosh tanh arcsinh arccosh arctanh sigmoid erf erfc erf_dx gelu gelu_tanh gelu_sigmoid gelu_dx gelu_sigmoid_dx silu silu_dx
-- softplus mish relu sign floor ceil round trunc isnan isinf isfinite signbit logical_not invert copy
---@return rt.array
function array.unary(op, a) end
-- op: add subtract multiply divide floor_divide remainder fmod power maximum minimum fmax fmin abs_max abs_min arctan2 hypot
-- copysign logaddexp bitwise_and bitwise_or bitwise_xor left_shift right_shift right_shift_logical logical_and logical_or
-- logical_xor equal not_equal less less_equal greater greater_equal
---@return rt.array
function array.binary(op, a, b) end
---@return rt.array bool
function array.compare_op(op, a, b) end
---@return rt.array
function array.where(condition, a, b) end
---@param low? operand
---@param high? operand
---@return rt.array
function array.clip(a, low, high) end
-- op: sum prod max min abs_max sum_square mean var std any all count_nonzero argmax argmin; axes: nil for all, an axis, a list
---@return rt.array
function array.reduce(op, a, axes, keepdims, ddof) end
---@param op "sum"|"prod"|"max"|"min"
---@return rt.array
function array.cumulative(op, a, axis) end
---@return rt.array
function array.matmul(a, b) end
---@return rt.array
function array.concat(list, axis) end

-- A malformed file gives nil, { code = "bad-file", message = }. dtype says what '|V1' or unsigned elements stand for.
---@return rt.array?, table?
function array.read_npy(bytes, dtype) end
---@return string
function array.write_npy(a) end
-- The same file piece by piece, nil at its end; for fs.write, which takes such a function.
---@return fun(): string?
function array.npy_pieces(a) end

-- options: bound (array or number), tile = { partitions, free }, ulp = dtype. Result: count compared differing max_abs
-- max_abs_index actual expected max_rel max_rel_index rel_l2 max_expected mean_error cosine worst_row worst_row_l2 worst_tile
-- worst_tile_l2 over_bound worst_ratio worst_ratio_index nonfinite_actual nonfinite_expected mismatches first_mismatch max_ulp
-- max_ulp_index ulp_histogram; see compare.h.
---@return table
function array.errors(actual, expected, options) end
---@return rt.array rel-L2 of each row (last axis)
function array.row_errors(actual, expected) end
---@return rt.array rel-L2 for each index along the axis
function array.axis_errors(actual, expected, axis) end
---@return table scale scale_residual offset offset_residual rel_l2 cosine
function array.fit(actual, expected) end
---@return integer k, number rel_l2 of actual[i] against expected[i - k], the best 1 <= |k| <= most
function array.shift(actual, expected, axis, most) end
---@return boolean
function array.bits_equal(a, b) end

---@return dtype
function array.promote(a, b) end
---@return table? name size is_float is_integer is_signed mantissa_bits min_exponent max min; nil when there is no such type
function array.dtype(name) end
---@return number value as it reads back after being stored as dtype
function array.round(dtype, value) end
---@return integer used, integer peak, integer limit, integer kept bytes; limit 0 for none; kept: freed, for reuse
function array.memory() end
---@return string contraction, string kernels "openblas PATH" or "own"; "base", "avx2" or "avx512"
function array.backend() end
---@param count? integer 0: the library's default
---@return integer in effect
function array.threads(count) end

return array
