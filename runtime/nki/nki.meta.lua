-- SPDX-License-Identifier: MIT
---@meta
-- luacheck: ignore 212 241
-- rt.nki as seen from Lua. Wrong use of the API raises a string; what the machine refuses raises nki.Error.

---@class nki.Operand
---@field name string parameter name, or "tensor", "dim", "value" ...
---@field shape integer[]? absent for operands that are no tensors
---@field dtype string?
---@field buffer "sbuf"|"psum"|"private_hbm"|"shared_hbm"|nil
---@field alloc_site integer? site of the allocation
---@field storage integer?
---@field partition_start integer?
---@field tensor string? name the kernel gave
---@field input boolean?
---@field value string? what was given instead of a tensor

---@class nki.Error
---@field kind "nki"
---@field code string kebab-case
---@field severity "error"|"warning"
---@field site integer
---@field op string "nisa.tensor_tensor", "nl.ndarray", "subscript", "ap", "tensor", "return"
---@field doc string? document that states the rule
---@field message string
---@field want string?
---@field got string?
---@field limit integer?
---@field operands nki.Operand[]

---@class nki.Tensor userdata; a Python object through its metatable

---@class nki.Record
local Record = {}
---@return integer
function Record:len() end
---@param i integer from 1
---@return table? {op, engine, site, elements, op0, op1, operands={{storage, buffer, name, dtype, part, parts, offset, extent, elements,
---run, rows, stride, write, vector}}, bytes, descriptor, dge, k, m, n, accumulate, transpose, cast, engine_given, reduces, fp32_passes}
function Record:get(i) end
---@return table {version, instructions, ops={name=count}, engines={name=count}, matmul_flops, dma_bytes, dma_count, tensors={{storage, name,
---dtype, bytes, bytes_read, bytes_written, shortest_read, shortest_write, role, contraction, roundings, depth, narrow16, narrow8, bit_view,
---to_integer, dtypes={}, functions={}}}}; tensors are those in HBM
function Record:totals() end

---@class nki.Machine
local Machine = {}
---What an NKI object stands for when it is an argument.
---@param kind "op"|"engine"|"reduce_cmd"|"dge_mode"|"oob_mode"|"matmul_perf_mode"|"buffer"
---@param name string
---@param object any
function Machine:define(kind, name, object) end
---The instructions (and ndarray, constant) as functions of positional arguments, in the order of prelude/nki/isa.lua.
---@return table<string, function>
function Machine:functions() end
---View methods as functions of positional arguments (self first), and the tensors' metatable.
---@return table<string, function>, table
function Machine:methods() end
---A kernel argument in HBM. An array of the same type and layout is borrowed, not copied.
---@param name string
---@param data rt.Array|number[]|nil
---@param dtype string
---@param shape integer[]
---@return nki.Tensor
function Machine:input(name, data, dtype, shape) end
---@param tensor nki.Tensor
---@return number[] flat, row-major
function Machine:read(tensor) end
---@param tensor nki.Tensor
---@return rt.Array float64 for floats in exact mode; a whole tensor in HBM is handed over without a copy
function Machine:output_array(tensor) end
---The checks at the end of a kernel: outputs written and in shared HBM, inputs unchanged or returned, capacity.
---@param outputs nki.Tensor[]
---@param inputs_may_change boolean?
function Machine:finish(outputs, inputs_may_change) end
---@return nki.Record
function Machine:record() end
---@return table {instructions, tensors, sbuf_peak, psum_peak, sbuf_limit, psum_limit}; peaks are bytes of a partition
function Machine:stats() end
---@return nki.Error[]
function Machine:warnings() end

local M = {}
---@param options {target:table, isa:table, language:table, mode:"chip"|"exact"|nil, execute:boolean?, poison:1|2|nil,
---uninitialized:"error"|"warning"|nil, none:any, tuple:table?}
---@return nki.Machine
function M.machine(options) end

return M
