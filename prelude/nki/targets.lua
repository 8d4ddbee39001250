-- SPDX-License-Identifier: MIT
-- Hardware figures per target: the one place for them. The machine checks against these, nl.tile_size reads them, help
-- prints them. Sizes are bytes or elements as the comment says; sources name the public document that states the number.

local KIB <const> = 1024

-- What all NeuronCores share. [trainium_inferentia2_arch, nki.language.tile_size]
local common <const> = {
  partitions = 128, -- of SBUF and PSUM
  psum_bytes = 16 * KIB, -- of one partition
  psum_bank_bytes = 2 * KIB, -- of one partition; 8 banks
  stationary_free = 128, -- columns of the stationary matrix
  moving_free = 512, -- columns of the moving matrix for a float32 result
  moving_free_bf16 = 512, -- the same for a bfloat16 result
  transpose_tensor = 128, -- nc_transpose on the Tensor Engine, both sides
  transpose_vector = 32, -- on the Vector Engine
  pattern_dims = 4, -- free dimensions of an instruction's access pattern
  bn_stats_free = 512,
  sbuf_min_align = 4, psum_min_align = 4,
}

-- Constants of the schedule model (runtime/nki/schedule.h names each with its unit). Sources in brackets:
--   arch2     trainium_inferentia2_arch         arch3  trainium2_arch         arch4  trainium3_arch
--   dma       nki-dma-overview, nki-dma-bandwidth-guide    dge  nki-dge    perf  nki_perf_guide
--   explorer  neuron-explorer glossary and summary page    isa  cost notes of the nki.isa pages
--   fit       no document states it: what public measurements agree on, as said beside it
-- DMA of trn2: rows of 1,024 and 4,096 B at 259 and 354 GB/s and one engine moving 4 x 8 KiB in 1,416 ns (dma) agree on 25.2 B/ns
-- and 20 ns a descriptor, the semaphore's included. trn1 and trn3 scale the rate by the documents' 17 : 23 : 33 B/ns.
-- A value that rests on measurements alone says so; nothing here was chosen to meet one kernel's total.
local schedule_trn2 <const> = {
  tensor_ghz = 2.4, vector_ghz = 0.96, scalar_ghz = 1.2, gpsimd_ghz = 1.2, sync_ghz = 1.2, -- arch3
  matmul_floor_cycles = 64, -- arch2: MM_INIT_LATENCY
  matmul_gap_cycles = 8, -- fit: 2,048 full matmuls take 216.8 ns each
  matmul_latency_cycles = 128, -- arch2: 128 rows of processing elements; SRAM access is in the gap
  load_columns_per_cycle = 4, -- arch2: LoadStationary up to 4x as fast
  fp32_passes = 4, -- arch2
  throttle_window_ns = 3000, throttle_share = 0.5, -- explorer: starts at 50 %, full after 3 us, again when under 50 % in 3 us
  vector_gap_cycles = 64, vector_latency_cycles = 64, -- arch2: about 60 cycles of SRAM access, 100 more when dependent
  scalar_gap_cycles = 73, -- fit: 61 ns an instruction fed back to back
  scalar_latency_cycles = 200, -- perf: dependent instructions start 264 cycles apart
  gpsimd_gap_cycles = 150, gpsimd_latency_cycles = 64, -- isa: 150 + N
  two_input_cycles = 1, two_input_16bit_cycles = 0.5, -- arch3: 256 elements a cycle, 512 of 16 bits; 2x mode
  scan_cycles = 1, -- fit: one cycle an element
  vector_4x_cycles = 0.25, vector_2x_cycles = 0.5, -- arch3: performance modes
  scalar_16bit_cycles = 1,
  reciprocal_cycles = 8, -- isa
  strided_factor = 2, -- arch2: elements over 16 bytes apart halve the bandwidth
  accumulator_cycles = 64, -- isa
  register_cycles = 600, -- isa: dynamic addresses
  semaphore_ns = 60, -- fit: tens of ns
  dma_engines = 16, dma_bytes_per_ns = 25.2, dma_descriptor_ns = 20, -- dma, see above
  dma_least_bytes = 512, -- dma: descriptors under 512 B are inefficient
  dma_apart_bytes = 8192, dma_apart_ns = 18, -- fit: DMA times of three public matmul profiles with rows 8 KiB apart, beside rows that follow each
  -- other or lie 4 KiB apart; what the memory's address map does in between is not public
  dma_start_ns = 1300, dma_done_ns = 700, -- dma: 1.3 us from semaphore to start; about 2 us fixed in all
  dma_trigger_ns = 50, -- fit: one instruction of the triggering engine
  dma_hwdge_ns = 600, dma_swdge_ns = 1000, dma_swdge_descriptor_ns = 0.83, -- dge; GpSimd's share is an estimate
  dma_transpose_hbm = 0.9, dma_transpose_sbuf = 0.5, -- arch3: up to
  hbm_bytes_per_ns = 725, -- arch3: 2.9 TB/s, four stacks, one per pair of cores
  vector_gpsimd_port = 2, vector_scalar_port = 0, -- arch3
  launch_ns = 5000, finish_ns = 5000, -- fit: the smallest kernels take 10 to 25 us
  keep_share = 0, -- every load is done; profile.notes asks what keeping repeated ones would save
  window = 48, -- language guide: operations without data dependences may be reordered; fit: as far as public timings show
}

local function schedule(changes)
  local row <const> = {}
  for key, value in pairs(schedule_trn2) do row[key] = value end
  for key, value in pairs(changes) do row[key] = value end
  return row
end

local schedule_trn1 <const> = schedule {
  tensor_ghz = 2.8, vector_ghz = 1.12, scalar_ghz = 1.4, gpsimd_ghz = 1.4, sync_ghz = 1.4, -- arch2
  throttle_window_ns = 0,
  scalar_gap_cycles = 64, -- perf: 264 cycles apart in all when dependent
  two_input_cycles = 2, two_input_16bit_cycles = 1, scan_cycles = 2, -- isa: 2N; N when all are bfloat16
  vector_4x_cycles = 1, vector_2x_cycles = 1,
  dma_bytes_per_ns = 18.2, -- dma: 17 B/ns an engine; fit: 240 to 265 GB/s with rows of 2 to 4 KiB
  dma_transpose_hbm = 0.1, dma_transpose_sbuf = 0.1, -- perf: much lower; no figure is public
  hbm_bytes_per_ns = 410, -- arch2: 820 GB/s, two stacks
  vector_gpsimd_port = 1, vector_scalar_port = 1, -- arch3: parallel access was disallowed in NeuronCore-v2
}

local schedule_trn3 <const> = schedule {
  vector_ghz = 1.2, -- arch4
  scalar_16bit_cycles = 0.5, -- arch4: 2x for bfloat16 and float16
  dma_bytes_per_ns = 36, -- dma: 33 B/ns at 8 KiB
  hbm_bytes_per_ns = 1175, -- arch4: 4.7 TB/s, four stacks
}

local function target(row)
  for key, value in pairs(common) do
    if row[key] == nil then row[key] = value end
  end
  return row
end

local targets <const> = {}

targets.trn1 = target {
  name = "trn1", generation = 2, core = "NeuronCore-v2", supported = false,
  sbuf_partition_bytes = 192 * KIB, sbuf_bytes = 176 * KIB, -- whole partition; usable by kernels
  psum_bank_span = false, psum_bf16 = false,
  bias_scalar = false, -- activation's bias must be a vector
  scalar_copy = false, -- no tensor_copy on the Scalar Engine
  scalar_tensor_scalar_any = false,
  accumulate_any = false, -- matmul cannot accumulate on what another engine wrote
  hwdge = false, float8 = false, float8_e4m3fn_matmul = false, double_row = false, psum_dma = false,
  schedule = schedule_trn1, dma_peak_bytes_per_s = 435.2e9, -- 16 engines [nki-dma-overview]
  source = "trainium_inferentia2_arch",
}

targets.inf2 = target {
  name = "inf2", generation = 2, core = "NeuronCore-v2", supported = false,
  sbuf_partition_bytes = 192 * KIB, sbuf_bytes = 176 * KIB,
  psum_bank_span = false, psum_bf16 = false, bias_scalar = false, scalar_copy = false, scalar_tensor_scalar_any = false,
  accumulate_any = false, hwdge = false, float8 = false, float8_e4m3fn_matmul = false, double_row = false, psum_dma = false,
  schedule = schedule_trn1, dma_peak_bytes_per_s = 435.2e9, -- 16 engines [nki-dma-overview]
  source = "trainium_inferentia2_arch",
}

targets.trn2 = target {
  name = "trn2", generation = 3, core = "NeuronCore-v3", supported = true,
  sbuf_partition_bytes = 224 * KIB, sbuf_bytes = 208 * KIB,
  psum_bank_span = false, psum_bf16 = false,
  bias_scalar = true, scalar_copy = true,
  scalar_tensor_scalar_any = false, -- multiply-add, multiply, add only
  accumulate_any = false,
  hwdge = true, float8 = true, float8_e4m3fn_matmul = false, double_row = true, psum_dma = false,
  schedule = schedule_trn2, dma_peak_bytes_per_s = 435.2e9, -- 16 engines [nki-dma-overview]
  source = "trainium2_arch",
}

targets.trn3 = target {
  name = "trn3", generation = 4, core = "NeuronCore-v4", supported = true,
  sbuf_partition_bytes = 256 * KIB, sbuf_bytes = 240 * KIB,
  moving_free = 4096, moving_free_bf16 = 8192, -- a matmul may fill all banks
  psum_bank_span = true, psum_bf16 = true, bias_scalar = true, scalar_copy = true, scalar_tensor_scalar_any = true,
  accumulate_any = true, hwdge = true, float8 = true, float8_e4m3fn_matmul = true, double_row = true, psum_dma = false,
  schedule = schedule_trn3, dma_peak_bytes_per_s = 614.4e9, -- 16 engines [nki-dma-overview]
  source = "trainium3_arch",
}

-- The rows by name (targets.trn2 ...), and:
return setmetatable(targets, { __index = {
  default = "trn2",
  get = function(name) return rawget(targets, name) end, -- the row, or nil
  names = function() return { "trn2", "trn3", "trn1", "inf2" } end, -- in the order to show them
} })
