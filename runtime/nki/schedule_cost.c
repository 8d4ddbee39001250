// SPDX-License-Identifier: MIT
// schedule_cost.c: what one instruction costs, from published formulas and the constants of the generation.
//
// N is the number of elements of a partition that stream through the engine. The documents give max(64, N) cycles and
// the like (nki.isa); measurements show N plus a constant instead, so a row occupies its engine for k N + gap cycles
// and a dependent instruction may start a latency later. k comes from the instruction's table below (nki.isa pages,
// section "Cost"), the element types and the memories (Vector Engine performance modes: trainium2_arch).
#include <string.h>

#include "nki/schedule.h"

static const uint8_t tracks[NKI_ENGINES] = {
    [NKI_ENGINE_UNKNOWN] = NKI_TRACK_VECTOR, [NKI_ENGINE_TENSOR] = NKI_TRACK_TENSOR,
    [NKI_ENGINE_SCALAR] = NKI_TRACK_SCALAR,  [NKI_ENGINE_GPSIMD] = NKI_TRACK_GPSIMD,
    [NKI_ENGINE_DMA] = NKI_TRACK_SYNC,       [NKI_ENGINE_VECTOR] = NKI_TRACK_VECTOR,
    [NKI_ENGINE_SYNC] = NKI_TRACK_SYNC,
};

enum nki_track nki_schedule_track(const struct nki_instruction *r) {
    if (r->op == NKI_I_CONSTANT) return NKI_TRACK_SYNC;
    if (r->bytes)
        return r->dge == NKI_DGE_SWDGE           ? NKI_TRACK_GPSIMD
               : r->trigger == NKI_ENGINE_SCALAR ? NKI_TRACK_SCALAR
                                                 : NKI_TRACK_SYNC;
    return (enum nki_track)tracks[r->engine < NKI_ENGINES ? r->engine : 0];
}

// What the operands of an instruction have in common.
struct shape {
    bool all16;      // every streamed operand has a 16-bit float type
    bool contiguous; // in the innermost dimension
    bool strided;    // some operand's elements lie more than 16 bytes apart
    int psum;        // operands in PSUM
    int streams;     // operands with more than one element per partition, the destination included
};

static struct shape shape_of(const struct nki_instruction *r) {
    struct shape s = {.all16 = true, .contiguous = true};
    for (int i = 0; i < r->operands; i++) {
        const struct nki_region *g = &r->region[i];
        if (g->flags & NKI_REGION_PSUM) s.psum++;
        if (g->flags & NKI_REGION_VECTOR) continue;
        size_t size = nki_dtype_size(g->dtype);
        if (g->dtype != DTYPE_BFLOAT16 && g->dtype != DTYPE_FLOAT16) s.all16 = false;
        if (g->elements <= 1) continue;
        s.streams++;
        if (g->stride != size) s.contiguous = false;
        if (g->stride > 16) s.strided = true;
    }
    return s;
}

// Cycles per element on the Vector Engine; mode is the performance mode that applies.
static double vector_rate(const struct nki_schedule_model *c, const struct nki_instruction *r, const struct shape *s,
                          uint8_t *mode) {
    *mode = 1;
    switch (r->op) {
    case NKI_I_TENSOR_TENSOR:
    case NKI_I_SCALAR_TENSOR_TENSOR:
    case NKI_I_TENSOR_COPY_PREDICATED:
    case NKI_I_SELECT_REDUCE:
        if (s->streams < 3) return 1;
        if (s->all16 && !s->psum && c->two_input_16bit_cycles < c->two_input_cycles) {
            *mode = 2;
            return c->two_input_16bit_cycles;
        }
        return s->psum ? 1 : c->two_input_cycles; // one operand from each memory: both ports stream
    case NKI_I_TENSOR_COPY:
    case NKI_I_TENSOR_SCALAR:
        if (s->all16 && c->vector_4x_cycles < 1) {
            if (!s->psum && s->contiguous) {
                *mode = 4;
                return c->vector_4x_cycles;
            }
            if (!s->psum || (s->contiguous && s->psum == 1)) {
                *mode = 2;
                return c->vector_2x_cycles;
            }
        }
        return 1;
    case NKI_I_TENSOR_TENSOR_SCAN:
    case NKI_I_TENSOR_SCALAR_CUMULATIVE: return c->scan_cycles;
    case NKI_I_TENSOR_REDUCE: return s->all16 && r->alu[0] != NKI_OP_MULTIPLY ? 0.5 : 1;
    case NKI_I_RECIPROCAL: return c->reciprocal_cycles;
    case NKI_I_BN_AGGR: return 13.0 / 3;
    case NKI_I_MEMSET: return s->all16 ? 0.5 : 1;
    case NKI_I_EXPONENTIAL: return 0.25;
    default: return 1;
    }
}

static double gpsimd_rate(const struct nki_instruction *r, const struct shape *s) {
    switch (r->op) {
    case NKI_I_TENSOR_TENSOR:
    case NKI_I_SCALAR_TENSOR_TENSOR: return s->streams < 3 ? 1 : 2;
    case NKI_I_TENSOR_PARTITION_REDUCE: return 8; // log2(128) steps across lanes, and the write
    default: return 1;
    }
}

static void tensor_cost(const struct nki_schedule_model *c, const struct nki_instruction *r, struct nki_cost *out) {
    double passes = r->flags & NKI_FLAG_FP32_PASSES ? c->fp32_passes : 1;
    if (passes > 1 && r->flags & NKI_FLAG_ONEZERO) passes = 2;
    double n = r->n > c->matmul_floor_cycles ? r->n : c->matmul_floor_cycles;
    out->busy_ns = (passes * n + c->matmul_gap_cycles) / c->tensor_ghz;
    out->load_ns = passes * r->m / c->load_columns_per_cycle / c->tensor_ghz;
    out->latency_ns = c->matmul_latency_cycles / c->tensor_ghz;
}

// The compiler chooses an engine that is left open by workload: public profiles show Vector and Scalar balanced.
// The Scalar Engine copies from NeuronCore-v3 on, and of the arithmetic pairs of tensor_scalar has multiply, add and
// multiply-add only, up to NeuronCore-v4 [nki.isa.tensor_copy, nki.isa.tensor_scalar].
bool nki_schedule_movable(const struct nki_machine *m, const struct nki_instruction *r) {
    if (r->engine != NKI_ENGINE_VECTOR || r->flags & NKI_FLAG_ENGINE_GIVEN) return false;
    if (r->op == NKI_I_TENSOR_COPY) return m->target.scalar_copy;
    // Profiles of public trn1 kernels show that dialect's compiler running it as an activation.
    if (r->op == NKI_I_RECIPROCAL) return m->target.generation == 2;
    if (r->op != NKI_I_TENSOR_SCALAR) return false;
    if (m->target.scalar_tensor_scalar_any) return true;
    bool multiply = r->alu[0] == NKI_OP_MULTIPLY, add = r->alu[0] == NKI_OP_ADD;
    return r->alu[1] == NKI_OP_NONE || r->alu[1] == NKI_OP_BYPASS ? multiply || add
                                                                  : multiply && r->alu[1] == NKI_OP_ADD;
}

void nki_schedule_cost(const struct nki_machine *m, const struct nki_schedule_model *c, const struct nki_instruction *r,
                       enum nki_track track, struct nki_cost *out) {
    (void)m;
    memset(out, 0, sizeof *out);
    out->track = (uint8_t)track;
    out->mode = 1;
    if (r->op == NKI_I_CONSTANT) return; // in memory before the kernel starts
    if (r->bytes) {
        out->dma = true;
        out->busy_ns = c->dma_trigger_ns;
        if (r->dge == NKI_DGE_SWDGE) {
            struct nki_dma_shape shape;
            nki_schedule_dma_shape(m, r, &shape);
            out->busy_ns = c->dma_swdge_ns + c->dma_swdge_descriptor_ns * (double)shape.descriptors;
        }
        return;
    }
    struct shape s = shape_of(r);
    out->psum = s.psum > 0;
    double n = r->elements;
    switch (out->track) {
    case NKI_TRACK_TENSOR: tensor_cost(c, r, out); return;
    case NKI_TRACK_VECTOR: {
        double rate = vector_rate(c, r, &s, &out->mode);
        double cycles = n * rate * (s.strided ? c->strided_factor : 1) + c->vector_gap_cycles;
        if (r->op == NKI_I_TENSOR_SCALAR_REDUCE || r->op == NKI_I_READ_ACCUMULATOR) cycles += c->accumulator_cycles;
        if (r->op == NKI_I_MAX8 || r->op == NKI_I_NC_MATCH_REPLACE8) cycles += 144 - c->vector_gap_cycles;
        out->busy_ns = cycles / c->vector_ghz;
        out->latency_ns = c->vector_latency_cycles / c->vector_ghz;
        return;
    }
    case NKI_TRACK_SCALAR: {
        double rate = s.all16 ? c->scalar_16bit_cycles : 1;
        double cycles = n * rate * (s.strided ? c->strided_factor : 1) + c->scalar_gap_cycles;
        if (r->op == NKI_I_READ_ACCUMULATOR) cycles = c->accumulator_cycles;
        out->busy_ns = cycles / c->scalar_ghz;
        out->latency_ns = c->scalar_latency_cycles / c->scalar_ghz;
        return;
    }
    case NKI_TRACK_GPSIMD: {
        double cycles = n * gpsimd_rate(r, &s) * (s.strided ? c->strided_factor : 1) + c->gpsimd_gap_cycles;
        out->busy_ns = cycles / c->gpsimd_ghz;
        out->latency_ns = c->gpsimd_latency_cycles / c->gpsimd_ghz;
        return;
    }
    default: out->busy_ns = c->register_cycles / c->sync_ghz; return;
    }
}

// --- DMA
// ------------------------------------------------------------------------------------------------------------

// Each of the 16 engines serves eight partitions [nki-dma-overview]; a partition's part is cut where either side stops
// being contiguous. HBM to HBM is cut evenly.
void nki_schedule_dma_shape(const struct nki_machine *m, const struct nki_instruction *r, struct nki_dma_shape *out) {
    memset(out, 0, sizeof *out);
    const struct nki_region *chip = NULL;
    uint64_t runs = 1;
    for (int i = 0; i < r->operands && i < 2; i++) {
        const struct nki_region *g = &r->region[i];
        if (g->rows > runs) runs = g->rows;
        if (!chip && !(g->flags & NKI_REGION_HBM) && g->storage) chip = g;
    }
    if (!chip) {
        uint64_t pieces = runs < 16 && r->bytes >= 16 * 512 ? 16 : runs;
        out->descriptors = pieces;
        out->element = (uint32_t)(r->bytes / pieces > UINT32_MAX ? UINT32_MAX : r->bytes / pieces);
        out->engines = pieces < 16 ? (int)pieces : 16;
        for (int e = 0; e < out->engines; e++) {
            uint64_t share = pieces / (uint64_t)out->engines + ((uint64_t)e < pieces % (uint64_t)out->engines);
            out->per_engine[e] = (uint32_t)(share > UINT32_MAX ? UINT32_MAX : share);
            out->bytes[e] = r->bytes * share / pieces;
        }
        uint64_t sum = 0;
        for (int e = 1; e < out->engines; e++) sum += out->bytes[e];
        out->bytes[0] = r->bytes - sum; // what rounding left over
        return;
    }
    int parts = chip->parts ? chip->parts : 1, part = chip->part;
    const struct nki_storage *st = m->storages[chip->storage - 1];
    if (st->address_partition > 0) part += (int)st->address_partition;
    if (r->flags & NKI_FLAG_TRANSPOSE) { // all engines work on one tile together [trainium2_arch, DMA Transpose]
        uint64_t left = r->bytes, rows = runs < 16 ? 16 : runs;
        out->engines = 16;
        for (int e = 0; e < 16; e++) {
            out->bytes[e] = left / (uint64_t)(16 - e);
            left -= out->bytes[e];
            out->per_engine[e] = (uint32_t)((rows + 15) / 16 > UINT32_MAX ? UINT32_MAX : (rows + 15) / 16);
            out->descriptors += out->per_engine[e];
        }
        out->element = (uint32_t)(r->bytes / out->descriptors);
        return;
    }
    uint64_t each = (runs + (uint64_t)parts - 1) / (uint64_t)parts; // descriptors of one partition
    if (each < 1) each = 1;
    uint64_t left = r->bytes;
    if (part % 8 == 0 && parts % 8 == 0 && left % (uint64_t)parts == 0 && each <= UINT32_MAX / 8) { // whole engines
        out->engines = parts / 8;
        for (int e = part / 8; e < part / 8 + parts / 8; e++) {
            out->per_engine[e % 16] = (uint32_t)(8 * each);
            out->bytes[e % 16] = left / (uint64_t)parts * 8;
        }
        out->descriptors = each * (uint64_t)parts;
        left = 0;
        parts = 0;
    }
    for (int p = 0; p < parts; p++) {
        int e = (part + p) / 8 % 16;
        uint64_t bytes = left / (uint64_t)(parts - p);
        left -= bytes;
        if (!out->per_engine[e]) out->engines++;
        uint64_t sum = out->per_engine[e] + each;
        out->per_engine[e] = (uint32_t)(sum > UINT32_MAX ? UINT32_MAX : sum);
        out->bytes[e] += bytes;
        out->descriptors += each;
    }
    out->element = (uint32_t)(r->bytes / out->descriptors > UINT32_MAX ? UINT32_MAX : r->bytes / out->descriptors);
}

// Whether rows lie a multiple of dma_apart_bytes apart in HBM, where they meet the same pages and channels.
static bool apart(const struct nki_schedule_model *c, const struct nki_instruction *r) {
    for (int i = 0; i < r->operands; i++) {
        const struct nki_region *g = &r->region[i];
        if (!(g->flags & NKI_REGION_HBM) || g->rows < 2 || g->ndim > 2 || g->extent <= g->run) continue;
        uint64_t step = (g->extent - g->run) / (g->rows - 1);
        if (step > g->run && step % (uint64_t)c->dma_apart_bytes == 0) return true;
    }
    return false;
}

// Time of one engine for its share, in ns: data descriptors, and one that writes the semaphore.
double nki_schedule_dma_service(const struct nki_machine *m, const struct nki_schedule_model *c,
                                const struct nki_instruction *r, const struct nki_dma_shape *shape, int engine) {
    (void)m;
    int hbm = 0;
    for (int i = 0; i < r->operands; i++) hbm += (r->region[i].flags & NKI_REGION_HBM) != 0;
    double rate = c->dma_bytes_per_ns;
    if (hbm > 0 && c->hbm_bytes_per_ns / (c->dma_engines * hbm) < rate)
        rate = c->hbm_bytes_per_ns / (c->dma_engines * hbm);
    if (r->op == NKI_I_DMA_TRANSPOSE || r->flags & NKI_FLAG_TRANSPOSE) {
        bool from_hbm = r->operands > 1 && r->region[1].flags & NKI_REGION_HBM;
        double share = from_hbm ? c->dma_transpose_hbm : c->dma_transpose_sbuf;
        int parts = r->region[0].parts ? r->region[0].parts : 128; // fewer partitions leave engines idle
        if (parts < 128) share *= parts / 128.0;
        return c->dma_descriptor_ns + (double)shape->bytes[engine] / (rate * share);
    }
    double streams = r->op == NKI_I_DMA_COMPUTE && r->operands > 2 ? r->operands - 1 : 1;
    double count = shape->per_engine[engine], bytes = (double)shape->bytes[engine];
    if (bytes < count * c->dma_least_bytes) bytes = count * c->dma_least_bytes;
    double time = count * c->dma_descriptor_ns + bytes / rate;
    if (apart(c, r)) time += count * c->dma_apart_ns;
    return time * streams + c->dma_descriptor_ns;
}
