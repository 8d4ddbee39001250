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

---@alias nki.Column rt.array rank 1
---@alias nki.TextColumn { codes: rt.array, values: string[] } code k (int32) is values[k + 1]; -1 is absent

---@class nki.Timeline the schedule of a record: everything modelled except counts. Times are ns from the start of the execution.
---@field total_ns number from the start of the execution on the device to its end
---@field first_ns number first instruction
---@field last_ns number last result
---@field model_version string
---@field count integer instructions of the record
---@field rows integer the same, with one LoadStationary more for every matmul
---@field packet_count integer
---@field overcommits integer tiles given memory beyond the capacity because nothing else could go on
local Timeline = {}
---One row per instruction in program order, a LoadStationary (opcode LDWEIGHTS) before its matmul.
---@param by_site { location: table<integer, string>?, name: table<integer, string>? }? texts per site, for the columns of these names
---@return table<string, nki.Column|nki.TextColumn> start finish (shown end: results there, or the next row begins) busy (engine free)
---done (results there; DMA: semaphore) wait_ns (engine stood still) ready: float64; start_ts end_ts duration_ns: int64; entry (record
---index from 0) site elements flags k m n bytes descriptors descriptor_bytes predecessor (row, -1: none); moved moved_end (DMA packets);
---transpose load throttled: bool; hbm_read hbm_write sbuf_read sbuf_write psum_read psum_write flops adjusted_flops; text: engine opcode
---operands op function dge mode ("2x", "4x") type (REGULAR, TRANSPOSE) variable kind (what it waited for last: flow anti output engine memory)
function Timeline:instructions(by_site) end
---DMA packets: the part of a transfer that one engine moves.
---@return table start finish start_ts end_ts duration_ns engine (0..15) queue bytes descriptors transfer row index; queue_name queue_type variable
function Timeline:packets() end
---One row per DMA instruction, in program order.
---@return table start finish trigger completion start_ts end_ts duration_ns row queue bytes read_bytes write_bytes descriptors descriptor_bytes
---engines read_parts write_parts transpose; queue_name queue_type variable op source dest {read,write}_{partitions,shape,offset,steps}
function Timeline:transfers() end
---Dependences, and from each DMA instruction to its transfer.
---@return table in_id out_id (rows; transfers where in_transfer or out_transfer) gap_ns kind (DGE_TRIGGER, FLOW_, ANTI_, OUTPUT_DEPENDENCE; SBUF_, PSUM_CAPACITY: it
---waited for the room that the other gave back)
function Timeline:flows() end
---@return { engine: string, start: rt.array, finish: rt.array, ns: number }[] merged intervals of Tensor, Vector, Scalar, GpSimd, Sync, DMA
function Timeline:active() end
---@return { name: string, role: "IN"|"OUT"|"INTERNAL", dtype: string, shape: integer[], bytes: integer, storage: integer, bytes_read: integer,
---bytes_written: integer, loads: integer, stores: integer }[] tensors in HBM
function Timeline:tensors() end
---Memory in use when it changes, thinned to a few thousand moments.
---@return table time; sbuf_0 .. sbuf_3 (bytes of a partition, by quarter of the partitions), psum
function Timeline:memory() end
---@return table start finish: when the Tensor engine ran at a share of its clock
function Timeline:throttle() end
---@return integer[] sites of the instructions, each once
function Timeline:sites() end
---@return table opcodes={{engine, opcode, count, ns}}, hbm_read, hbm_write, sbuf_read, sbuf_write, psum_read, psum_write, flops,
---adjusted_flops, transpose_flops, adjusted_transpose_flops, transposes, psum_read_sbuf_write_count, psum_read_sbuf_write_bytes,
---repeated_loads, repeated_load_bytes (of input regions loaded before), movable, movable_ns (instructions whose engine the kernel left
---open between Vector and Scalar)
function Timeline:totals() end

---@class nki.Machine
local Machine = {}
---Schedule what has been recorded. The timeline keeps the machine.
---@param model table<string, number> `schedule` of a target in prelude/nki/targets.lua
---@param options { progress: fun(done: integer, total: integer)? }? what it raises is raised again
---@return nki.Timeline? timeline, table? err { code = "memory-limit"|"cancelled"|"too-large", message }
function Machine:schedule(model, options) end
---A block of nl.no_reorder begins (true) or ends: its instructions keep their order on each engine.
---@param enter boolean
function Machine:keep_order(enter) end
---Name a tensor that the kernel gave no name.
---@param tensor nki.Tensor
---@param name string
function Machine:label(tensor, name) end
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
