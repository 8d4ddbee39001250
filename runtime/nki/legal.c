// SPDX-License-Identifier: MIT
// legal.c: the rules that instructions share: memories, types, partitions, sizes, engines, operators.
#include <inttypes.h>
#include <string.h>

#include "nki/exec.h"

const struct nki_row *nki_begin(struct nki_machine *m, enum nki_instr instr) {
    const struct nki_row *row = &m->rows[instr];
    m->now = instr;
    m->err.op = row->name;
    m->err.doc = row->doc;
    m->err.site = m->site;
    return row;
}

static const struct nki_row_operand *row_operand(const struct nki_row *row, const char *name) {
    for (int i = 0; i < row->operand_count; i++)
        if (strcmp(row->operands[i].name, name) == 0) return &row->operands[i];
    return NULL;
}

static void buffers_text(char *text, size_t size, uint32_t mask) {
    static const char *const names[NKI_BUFFERS] = {"SBUF", "PSUM", "HBM", NULL};
    text[0] = 0;
    for (int b = 0; b < NKI_BUFFERS; b++) {
        if (!(mask & nki_bit(b)) || !names[b]) continue;
        if (text[0]) strncat(text, " or ", size - strlen(text) - 1);
        strncat(text, names[b], size - strlen(text) - 1);
    }
}

static bool check_buffer(struct nki_machine *m, const struct nki_row_operand *ro, const struct nki_use *u) {
    enum nki_buffer b = u->view->st->buffer;
    if (ro->buffers & nki_bit(b)) return true;
    const char *code = u->buffer_code ? u->buffer_code : nki_on_chip(b) ? "buffer-not-allowed" : "hbm-operand";
    char want[48];
    buffers_text(want, sizeof want, ro->buffers);
    nki_fail(&m->err, code, "%s must be in %s, it is in %s", u->name, want, nki_buffer_names[b]);
    nki_error_view(&m->err, u->name, u->view);
    nki_error_want(&m->err, "%s", want);
    nki_error_got(&m->err, "%s", nki_buffer_names[b]);
    return false;
}

static bool check_start(struct nki_machine *m, const struct nki_use *u) {
    int64_t n = u->view->shape[0], start = u->view->part;
    int64_t step = n > 64 ? 128 : n > 32 ? 64 : 32;
    if (start % step == 0 && start + n <= m->target.partitions) return true;
    nki_fail(&m->err, "start-partition", "%s covers %" PRId64 " partitions and starts at partition %" PRId64, u->name,
             n, start);
    m->err.doc = "trainium_inferentia2_arch";
    nki_error_view(&m->err, u->name, u->view);
    nki_error_want(&m->err, n > 64   ? "start 0 (more than 64 partitions)"
                            : n > 32 ? "start 0 or 64 (33 to 64 partitions)"
                                     : "start 0, 32, 64 or 96 (up to 32 partitions)");
    nki_error_got(&m->err, "start %" PRId64, start);
    nki_error_limit(&m->err, step);
    return false;
}

static bool check_one(struct nki_machine *m, const struct nki_row *row, const struct nki_use *u) {
    const struct nki_view *v = u->view;
    const struct nki_row_operand *ro = row_operand(row, u->name);
    if (ro) {
        if (!check_buffer(m, ro, u)) return false;
        if (!(ro->dtypes & nki_bit(v->dtype))) {
            char want[160] = "";
            int kinds = __builtin_popcount(ro->dtypes);
            for (int t = 0; t < NKI_DTYPES && kinds <= 8; t++) {
                if (!(ro->dtypes & nki_bit(t))) continue;
                if (want[0]) strcat(want, " or ");
                strcat(want, nki_dtypes[t].name);
            }
            nki_fail(&m->err, kinds <= 4 ? "operand-dtype" : "dtype-unsupported", "%s cannot be %s", u->name,
                     nki_dtypes[v->dtype].name);
            nki_error_view(&m->err, u->name, v);
            nki_error_want(&m->err, "%s", want);
            nki_error_got(&m->err, "%s", nki_dtypes[v->dtype].name);
            return false;
        }
    }
    if (u->write && v->repeats) {
        nki_fail(&m->err, "dst-repeats", "%s is a broadcast view: one element would be written several times", u->name);
        nki_error_view(&m->err, u->name, v);
        nki_error_want(&m->err, "a view in which each element appears once");
        return false;
    }
    if (!nki_on_chip(v->st->buffer)) return true;
    bool dma = m->now == NKI_I_DMA_COPY || m->now == NKI_I_DMA_TRANSPOSE || m->now == NKI_I_DMA_COMPUTE;
    if (dma) return true;
    if (v->indirect) {
        nki_fail(&m->err, "indirect-view", "%s has a run-time index, which this instruction does not take here",
                 u->name);
        nki_error_view(&m->err, u->name, v);
        nki_error_want(&m->err, "a tensor without a run-time index");
        return false;
    }
    if (v->shape[0] > m->target.partitions) {
        nki_fail(&m->err, "partition-exceeds-limit", "%s spans %" PRId64 " partitions", u->name, v->shape[0]);
        nki_error_view(&m->err, u->name, v);
        nki_error_limit(&m->err, m->target.partitions);
        return false;
    }
    if ((v->part & 31 || v->shape[0] > 32) && !check_start(m, u)) return false;
    if (v->ndim > 2) {
        struct nki_pattern p;
        nki_view_merge(v, &p);
        if (p.n > m->target.pattern_dims) {
            nki_fail(&m->err, "pattern-dims", "%s needs an access pattern of %d free dimensions", u->name, p.n);
            m->err.doc = "nki-aps";
            nki_error_view(&m->err, u->name, v);
            nki_error_want(&m->err, "at most %" PRId64 " free dimensions after merging contiguous ones",
                           m->target.pattern_dims);
            nki_error_got(&m->err, "%d", p.n);
            nki_error_limit(&m->err, m->target.pattern_dims);
            return false;
        }
    }
    return true;
}

bool nki_need_generation(struct nki_machine *m, int generation) {
    if (m->target.generation >= generation) return true;
    const struct nki_row *row = &m->rows[m->now];
    nki_fail(&m->err, "target-unsupported", "%s needs NeuronCore-v%d, the target %s has NeuronCore-v%d", row->name,
             generation, m->target.name, m->target.generation);
    nki_error_want(&m->err, "NeuronCore-v%d or newer", generation);
    nki_error_got(&m->err, "%s", m->target.name);
    nki_error_limit(&m->err, generation);
    return false;
}

bool nki_check(struct nki_machine *m, const struct nki_use *uses, int count) {
    const struct nki_row *row = &m->rows[m->now];
    if (row->first_gen > m->target.generation && !nki_need_generation(m, row->first_gen)) return false;
    for (int i = 0; i < count; i++)
        if (uses[i].view && !check_one(m, row, &uses[i])) return false;
    return true;
}

bool nki_check_initialised(struct nki_machine *m, const struct nki_use *uses, int count) {
    for (int i = 0; i < count; i++) {
        const struct nki_use *u = &uses[i];
        if (!u->view || (u->write && !u->read_too)) continue;
        struct nki_storage *st = u->view->st;
        if (st->init.full || nki_view_area(u->view, &st->init, NKI_AREA_ALL)) continue;
        bool never = nki_area_is_empty(&st->init);
        nki_fail(&m->err, "uninitialized-read",
                 never ? "%s is read before anything was written to it" : "%s reads elements that were never written",
                 u->name);
        m->err.doc = "nki_simulator";
        nki_error_view(&m->err, u->name, u->view);
        nki_error_want(&m->err, "every element written before it is read");
        nki_error_got(&m->err, never ? "nothing written" : "partly written");
        if (!m->uninitialized_warns) return false;
        nki_machine_warn(m);
    }
    return true;
}

bool nki_need_partitions(struct nki_machine *m, const struct nki_use *a, const struct nki_use *b) {
    if (a->view->shape[0] == b->view->shape[0]) return true;
    nki_fail(&m->err, "partition-mismatch", "%s has %" PRId64 " partitions, %s has %" PRId64, b->name,
             b->view->shape[0], a->name, a->view->shape[0]);
    nki_error_view(&m->err, a->name, a->view);
    nki_error_view(&m->err, b->name, b->view);
    nki_error_want(&m->err, "%" PRId64, a->view->shape[0]);
    nki_error_got(&m->err, "%" PRId64, b->view->shape[0]);
    return false;
}

bool nki_need_same_size(struct nki_machine *m, const struct nki_use *a, const struct nki_use *b) {
    if (!nki_need_partitions(m, a, b)) return false;
    int64_t fa = nki_view_free_size(a->view), fb = nki_view_free_size(b->view);
    if (fa == fb) return true;
    nki_fail(&m->err, "free-size-mismatch", "%s has %" PRId64 " elements per partition, %s has %" PRId64, b->name, fb,
             a->name, fa);
    nki_error_view(&m->err, a->name, a->view);
    nki_error_view(&m->err, b->name, b->view);
    nki_error_want(&m->err, "%" PRId64, fa);
    nki_error_got(&m->err, "%" PRId64, fb);
    return false;
}

bool nki_need_vector(struct nki_machine *m, const struct nki_use *data, const struct nki_use *vector,
                     const char *code) {
    int64_t p = data->view->shape[0], f = nki_view_free_size(vector->view);
    if (f == 1 && vector->view->shape[0] == p) return true;
    char text[96];
    nki_fail(&m->err, code, "%s must hold one element for each of the %" PRId64 " partitions of %s, its shape is %s",
             vector->name, p, data->name, nki_view_shape_text(text, vector->view));
    nki_error_view(&m->err, data->name, data->view);
    nki_error_view(&m->err, vector->name, vector->view);
    nki_error_want(&m->err, "[%" PRId64 ",1]", p);
    nki_error_got(&m->err, "%s", text);
    return false;
}

bool nki_need_not_both_psum(struct nki_machine *m, const struct nki_use *a, const struct nki_use *b) {
    if (a->view->st->buffer != NKI_PSUM || b->view->st->buffer != NKI_PSUM) return true;
    nki_fail(&m->err, "two-psum-operands",
             "%s and %s are both in PSUM; one instruction reads at most one of them there", a->name, b->name);
    nki_error_view(&m->err, a->name, a->view);
    nki_error_view(&m->err, b->name, b->view);
    nki_error_want(&m->err, "at least one of the two in SBUF");
    nki_error_got(&m->err, "both in PSUM");
    return false;
}

bool nki_need_same_dtype(struct nki_machine *m, const struct nki_use *a, const struct nki_use *b) {
    if (a->view->dtype == b->view->dtype) return true;
    nki_fail(&m->err, "operand-dtype", "%s is %s and %s is %s; the types must be equal here", a->name,
             nki_dtypes[a->view->dtype].name, b->name, nki_dtypes[b->view->dtype].name);
    nki_error_view(&m->err, a->name, a->view);
    nki_error_view(&m->err, b->name, b->view);
    nki_error_want(&m->err, "%s", nki_dtypes[b->view->dtype].name);
    nki_error_got(&m->err, "%s", nki_dtypes[a->view->dtype].name);
    return false;
}

bool nki_need_dtype(struct nki_machine *m, const struct nki_use *u, uint32_t mask, const char *code, const char *want) {
    if (!u->view || mask & nki_bit(u->view->dtype)) return true;
    nki_fail(&m->err, code, "%s must be %s, it is %s", u->name, want, nki_dtypes[u->view->dtype].name);
    nki_error_view(&m->err, u->name, u->view);
    nki_error_want(&m->err, "%s", want);
    nki_error_got(&m->err, "%s", nki_dtypes[u->view->dtype].name);
    return false;
}

bool nki_need_reach(struct nki_machine *m, int engine, const struct nki_use *uses, int count) {
    if (engine != NKI_ENGINE_GPSIMD) return true;
    for (int i = 0; i < count; i++) {
        const struct nki_use *u = &uses[i];
        if (!u->view || u->view->st->buffer != NKI_PSUM) continue;
        nki_fail(&m->err, "buffer-not-allowed", "%s is in PSUM, which the GpSimd Engine cannot access", u->name);
        nki_error_view(&m->err, u->name, u->view);
        nki_error_want(&m->err, "SBUF");
        nki_error_got(&m->err, "psum");
        nki_error_value(&m->err, "engine", "gpsimd");
        return false;
    }
    return true;
}

bool nki_fail_op(struct nki_machine *m, const char *name, enum nki_op op, const char *want) {
    nki_fail(&m->err, "op-unsupported", "nl.%s is not %s", nki_ops[op].name, want);
    nki_error_value(&m->err, name, "nl.%s", nki_ops[op].name);
    nki_error_want(&m->err, "%s", want);
    nki_error_got(&m->err, "nl.%s", nki_ops[op].name);
    return false;
}

bool nki_need_op(struct nki_machine *m, const char *name, enum nki_op op, uint32_t flags, const char *want) {
    if (!(m->op_flags[op] & flags)) return nki_fail_op(m, name, op, want);
    if (m->op_flags[op] & NKI_OPF_GEN4 && m->target.generation < 4) {
        nki_fail(&m->err, "target-unsupported", "nl.%s needs NeuronCore-v4, the target %s has NeuronCore-v%d",
                 nki_ops[op].name, m->target.name, m->target.generation);
        nki_error_value(&m->err, name, "nl.%s", nki_ops[op].name);
        nki_error_want(&m->err, "NeuronCore-v4");
        nki_error_limit(&m->err, 4);
        return false;
    }
    return true;
}

bool nki_choose_engine(struct nki_machine *m, int asked, int automatic, int *engine) {
    const struct nki_row *row = &m->rows[m->now];
    if (asked == NKI_ENGINE_UNKNOWN) {
        *engine = automatic;
        return true;
    }
    *engine = asked;
    if (row->engines & nki_bit(asked)) return true;
    char want[96] = "";
    for (int e = 1; e < NKI_ENGINES; e++) {
        if (!(row->engines & nki_bit(e))) continue;
        if (want[0]) strcat(want, " or ");
        strcat(want, nki_engine_names[e]);
    }
    nki_fail(&m->err, "engine-unsupported", "%s does not run on the %s engine", row->name, nki_engine_names[asked]);
    nki_error_value(&m->err, "engine", "nisa.engine.%s", nki_engine_names[asked]);
    nki_error_want(&m->err, "%s", want);
    nki_error_got(&m->err, "%s", nki_engine_names[asked]);
    return false;
}

static uint32_t mask_of(bool want_float) {
    uint32_t mask = 0;
    for (int t = 0; t < NKI_DTYPES; t++)
        if (nki_dtypes[t].in_nki && (want_float ? nki_dtypes[t].is_float : nki_dtypes[t].is_int)) mask |= nki_bit(t);
    return mask;
}

uint32_t nki_dtype_mask_int(void) { return mask_of(false); }
uint32_t nki_dtype_mask_float(void) { return mask_of(true); }
