// SPDX-License-Identifier: MIT
#include "nki/machine.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "nki/exec.h"

bool nki_machine_open(struct nki_machine *m, struct account *account) {
    m->account = m->record.account = account;
    m->poison = 1;
    m->random = 0x9E3779B97F4A7C15u;
    return true;
}

void nki_machine_close(struct nki_machine *m) {
    for (uint32_t i = 0; i < m->storage_count; i++) nki_storage_close(m->storages[i], m->account);
    free(m->storages);
    m->storages = NULL;
    for (int i = 0; i < m->label_count; i++) free(m->labels[i].text);
    free(m->labels);
    m->labels = NULL;
    m->label_count = 0;
    m->storage_count = m->storage_capacity = 0;
    nki_record_close(&m->record);
    free(m->warnings);
    m->warnings = NULL;
    m->warning_count = m->warning_capacity = 0;
    for (int i = 0; i < NKI_CACHE; i++) {
        free(m->cache[i].data);
        m->cache[i].data = NULL;
    }
    nki_pending_close(m);
    free(m->scratch);
    m->scratch = NULL;
    m->scratch_bytes = 0;
}

struct nki_storage *nki_machine_storage(struct nki_machine *m, enum nki_buffer buffer, int dtype, const int64_t *shape,
                                        int ndim, const char *name) {
    if (m->storage_count == m->storage_capacity) {
        uint32_t capacity = m->storage_capacity ? m->storage_capacity * 2 : 64;
        struct nki_storage **list = realloc(m->storages, capacity * sizeof *list);
        if (!list) {
            nki_fail_memory(m, false);
            return NULL;
        }
        m->storages = list;
        m->storage_capacity = capacity;
    }
    bool refused;
    struct nki_storage *st = nki_storage_open(m->account, buffer, name, &refused);
    if (!st) {
        nki_fail_memory(m, refused);
        return NULL;
    }
    st->id = m->storage_count + 1;
    st->dtype = dtype;
    st->site = m->site;
    st->ndim = ndim;
    st->address_partition = st->address_byte = -1;
    int64_t all = 1;
    for (int d = 0; d < ndim; d++) {
        st->shape[d] = shape[d];
        all *= shape[d];
    }
    size_t size = nki_dtype_size(dtype);
    st->cell = m->mode == NKI_EXACT && nki_dtypes[dtype].is_float ? 8 : size;
    bool chip = nki_on_chip(buffer);
    st->partitions = chip ? shape[0] : 1;
    st->free_elems = st->partitions ? all / st->partitions : 0;
    st->row_elems = chip ? st->free_elems : ndim ? shape[ndim - 1] : 1;
    st->pitch = (size_t)st->free_elems * st->cell;
    st->bytes = (size_t)all * st->cell;
    nki_area_open(&st->init,
                  chip            ? st->partitions
                  : st->row_elems ? all / st->row_elems
                                  : 0,
                  st->row_elems * (int64_t)size);
    nki_area_open(&st->matmul, st->init.rows, st->init.cols);
    m->storages[m->storage_count++] = st;
    return st;
}

bool nki_machine_back(struct nki_machine *m, struct nki_storage *st) {
    if (st->data) return true;
    bool refused;
    st->data = account_take(m->account, st->bytes, &refused);
    return st->data ? true : nki_fail_memory(m, refused);
}

void nki_machine_warn(struct nki_machine *m) {
    m->err.raised = false;
    for (int i = 0; i < m->warning_count; i++)
        if (m->warnings[i].code == m->err.code && m->warnings[i].site == m->err.site) return;
    if (m->warning_count == m->warning_capacity) {
        if (m->warning_count >= 64) return;
        int capacity = m->warning_capacity ? m->warning_capacity * 2 : 4;
        struct nki_error *list = realloc(m->warnings, (size_t)capacity * sizeof *list);
        if (!list) return; // a warning less
        m->warnings = list;
        m->warning_capacity = capacity;
    }
    m->err.warning = true;
    m->warnings[m->warning_count++] = m->err;
    m->err.warning = false;
}

static bool fail_shape(struct nki_machine *m, const int64_t *shape, int ndim) {
    char text[96];
    nki_fail(&m->err, "value-type", "a tensor's shape needs 1 to %d positive sizes", NKI_MAX_DIMS);
    nki_error_value(&m->err, "shape", "%s", nki_shape_text(text, shape, ndim < NKI_MAX_DIMS ? ndim : NKI_MAX_DIMS));
    nki_error_want(&m->err, "positive sizes");
    nki_error_got(&m->err, "%s", text);
    return false;
}

// Bytes of a partition against what the memory has; the whole tensor as the error's operand.
static bool check_fits(struct nki_machine *m, enum nki_buffer buffer, const int64_t *shape, int ndim, int dtype,
                       int64_t from) {
    int64_t free_bytes = (int64_t)nki_dtype_size(dtype);
    for (int d = 1; d < ndim; d++) {
        if (__builtin_mul_overflow(free_bytes, shape[d], &free_bytes) || free_bytes > INT64_MAX / 2) free_bytes = INT64_MAX / 2;
    }
    int64_t limit = buffer == NKI_PSUM ? m->target.psum_bytes : m->target.sbuf_bytes;
    char text[96];
    if (from + free_bytes <= limit) return true;
    nki_fail(&m->err, buffer == NKI_PSUM ? "psum-capacity" : "sbuf-capacity",
             "a tensor of %" PRId64 " bytes per partition does not fit %s, which has %" PRId64, free_bytes,
             nki_buffer_names[buffer], limit);
    nki_error_value(&m->err, "shape", "%s", nki_shape_text(text, shape, ndim));
    nki_error_value(&m->err, "dtype", "%s", nki_dtypes[dtype].name);
    nki_error_value(&m->err, "buffer", "%s", nki_buffer_names[buffer]);
    nki_error_want(&m->err, "at most %" PRId64 " bytes per partition", limit);
    nki_error_got(&m->err, "%" PRId64 " bytes", free_bytes);
    nki_error_limit(&m->err, limit / (int64_t)nki_dtype_size(dtype));
    return false;
}

bool nki_ndarray(struct nki_machine *m, struct nki_view *out, const int64_t *shape, int ndim, int dtype,
                 enum nki_buffer buffer, const char *name, const int64_t *address) {
    char text[96];
    m->err.op = "nl.ndarray";
    m->err.doc = "nki.language.ndarray";
    m->err.site = m->site;
    bool good = ndim >= 1 && ndim <= NKI_MAX_DIMS;
    double total = 1;
    for (int d = 0; good && d < ndim; d++) {
        good = shape[d] >= 1;
        total *= (double)shape[d];
    }
    if (!good) return fail_shape(m, shape, ndim);
    int64_t sizes[NKI_MAX_DIMS];
    memcpy(sizes, shape, (size_t)ndim * sizeof *shape);
    if (!nki_dtypes[dtype].in_nki) {
        nki_fail(&m->err, "dtype-unsupported", "%s is no NKI type", nki_dtypes[dtype].name);
        nki_error_value(&m->err, "dtype", "%s", nki_dtypes[dtype].name);
        nki_error_got(&m->err, "%s", nki_dtypes[dtype].name);
        return false;
    }
    bool float8 = dtype == DTYPE_FLOAT8_E4M3 || dtype == DTYPE_FLOAT8_E4M3FN || dtype == DTYPE_FLOAT8_E5M2;
    bool gen4 = dtype >= DTYPE_COUNT;
    if ((float8 && !m->target.float8) || (gen4 && m->target.generation < 4)) {
        nki_fail(&m->err, "dtype-unsupported", "%s is not available on %s", nki_dtypes[dtype].name, m->target.name);
        nki_error_value(&m->err, "dtype", "%s", nki_dtypes[dtype].name);
        nki_error_got(&m->err, "%s", nki_dtypes[dtype].name);
        return false;
    }
    if (nki_on_chip(buffer)) {
        if (ndim == 1) sizes[ndim++] = 1;
        if (sizes[0] > m->target.partitions) {
            nki_fail(&m->err, "partition-exceeds-limit", "%s has %" PRId64 " partitions, %" PRId64 " asked for",
                     nki_buffer_names[buffer], m->target.partitions, sizes[0]);
            nki_error_value(&m->err, "shape", "%s", nki_shape_text(text, sizes, ndim));
            nki_error_value(&m->err, "buffer", "%s", nki_buffer_names[buffer]);
            nki_error_want(&m->err, "at most %" PRId64 " in dimension 0", m->target.partitions);
            nki_error_got(&m->err, "%" PRId64, sizes[0]);
            nki_error_limit(&m->err, m->target.partitions);
            return false;
        }
        if (address && (address[0] < 0 || address[1] < 0 ||
                        address[1] > (buffer == NKI_PSUM ? m->target.psum_bytes : m->target.sbuf_bytes) ||
                        address[0] > 128 || address[0] + sizes[0] > m->target.partitions ||
                        (buffer == NKI_PSUM && address[1] % m->target.psum_bank_bytes != 0))) {
            nki_fail(&m->err, "address-invalid",
                     "address (%" PRId64 ", %" PRId64 ") is not a place for this tensor in %s", address[0], address[1],
                     nki_buffer_names[buffer]);
            nki_error_value(&m->err, "address", "(%" PRId64 ", %" PRId64 ")", address[0], address[1]);
            nki_error_want(&m->err,
                           buffer == NKI_PSUM ? "a partition and a byte offset that starts a bank of %" PRId64 " bytes"
                                              : "a partition and a byte offset inside %" PRId64 " bytes",
                           buffer == NKI_PSUM ? m->target.psum_bank_bytes : m->target.sbuf_bytes);
            return false;
        }
        if (!check_fits(m, buffer, sizes, ndim, dtype, address ? address[1] : 0)) return false;
    }
    if (total > 1e13) return nki_fail_memory(m, true);
    struct nki_storage *st = nki_machine_storage(m, buffer, dtype, sizes, ndim, name);
    if (!st) return false;
    if (address) {
        st->address_partition = address[0];
        st->address_byte = address[1];
    }
    nki_view_of(out, st);
    if (address) out->part = 0; // partition 0 of the storage is at the address given
    return true;
}

bool nki_machine_finish(struct nki_machine *m, const struct nki_view *outputs, int count, bool inputs_may_change) {
    char text[96];
    m->err.op = "return";
    m->err.doc = "nki-language-guide";
    for (int i = 0; i < count; i++) {
        const struct nki_view *v = &outputs[i];
        struct nki_storage *st = v->st;
        m->err.site = st->site;
        if (st->buffer != NKI_SHARED_HBM) {
            nki_fail(&m->err, "output-not-shared-hbm", "output %d is in %s; a kernel's results must be in shared_hbm",
                     i + 1, nki_buffer_names[st->buffer]);
            m->err.doc = "nki-migration-guide";
            nki_error_view(&m->err, "output", v);
            nki_error_value(&m->err, "index", "%d", i + 1);
            nki_error_want(&m->err, "shared_hbm");
            nki_error_got(&m->err, "%s", nki_buffer_names[st->buffer]);
            return false;
        }
        st->output = true;
        if (st->init.full || nki_view_area(v, &st->init, NKI_AREA_ALL)) continue;
        int64_t row = 0, col = 0, missing = nki_area_missing(&st->init);
        nki_area_first_gap(&st->init, &row, &col);
        int64_t size = (int64_t)nki_dtype_size(st->dtype), flat = (row * st->init.cols + col) / size;
        int64_t at[NKI_MAX_DIMS];
        for (int d = st->ndim - 1; d >= 0; d--) {
            at[d] = flat % st->shape[d];
            flat /= st->shape[d];
        }
        nki_fail(&m->err, "output-not-written",
                 "%" PRId64 " of %" PRId64 " elements of output %d are never written, the first at %s", missing / size,
                 st->partitions * st->free_elems, i + 1, nki_shape_text(text, at, st->ndim));
        nki_error_view(&m->err, "output", v);
        nki_error_value(&m->err, "index", "%d", i + 1);
        nki_error_value(&m->err, "first", "%s", text);
        nki_error_want(&m->err, "every element of the output written");
        nki_error_got(&m->err, "%" PRId64 " elements missing", missing / size);
        nki_error_limit(&m->err, missing / size);
        return false;
    }
    for (uint32_t i = 0; i < m->storage_count && !inputs_may_change; i++) {
        struct nki_storage *st = m->storages[i];
        if (!st->input || !st->written_site || st->output) continue;
        struct nki_view v;
        nki_view_of(&v, st);
        m->err.site = st->written_site > 0 ? st->written_site : 0;
        nki_fail(&m->err, "immutable-input", "the input %s is written and not returned",
                 st->name ? st->name : "tensor");
        nki_error_view(&m->err, "dst", &v);
        nki_error_want(&m->err, "a tensor made with nl.ndarray(buffer=nl.shared_hbm)");
        nki_error_got(&m->err, "the kernel's argument %s", st->name ? st->name : "");
        return false;
    }
    return nki_check_capacity(m, NKI_SBUF) && nki_check_capacity(m, NKI_PSUM);
}
