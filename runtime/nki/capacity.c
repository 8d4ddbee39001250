// SPDX-License-Identifier: MIT
// capacity.c: do the tensors on chip fit at every moment? A tensor occupies its memory from the first instruction that
// writes it to the last that touches it. Counted is what any allocator needs at least: bytes of a partition times the
// quarters of the 128 partitions a tensor takes, so that nothing is refused that could be placed. Tensors with a given
// address are checked one by one when they are made.
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "nki/exec.h"

static int64_t bytes_of(const struct nki_storage *st) { return st->free_elems * (int64_t)nki_dtype_size(st->dtype); }

static int64_t quarters(const struct nki_storage *st) {
    return st->partitions <= 32 ? 1 : st->partitions <= 64 ? 2 : 4;
}

static bool counted(const struct nki_storage *st, enum nki_buffer buffer) {
    return st->buffer == buffer && st->first_write && st->address_byte < 0;
}

bool nki_capacity_peak(struct nki_machine *m, enum nki_buffer buffer, int64_t *peak, uint32_t *when) {
    *peak = 0;
    *when = 0;
    // By how much the need changes at each instruction; what ends makes room for what begins there.
    size_t n = m->record.count + 2;
    int64_t *change = calloc(n, sizeof *change);
    if (!change) return nki_fail_memory(m, false);
    for (uint32_t i = 0; i < m->storage_count; i++) {
        const struct nki_storage *st = m->storages[i];
        if (!counted(st, buffer)) continue;
        int64_t amount = bytes_of(st) * quarters(st);
        change[st->first_write] += amount;
        change[st->last_read + 1] -= amount;
    }
    int64_t now = 0;
    for (size_t i = 0; i < n; i++) {
        now += change[i];
        if (now > *peak) {
            *peak = now;
            *when = (uint32_t)i;
        }
    }
    free(change);
    *peak = (*peak + 3) / 4;
    return true;
}

bool nki_check_capacity(struct nki_machine *m, enum nki_buffer buffer) {
    int64_t peak, limit = buffer == NKI_PSUM ? m->target.psum_bytes : m->target.sbuf_bytes;
    uint32_t when;
    if (!nki_capacity_peak(m, buffer, &peak, &when)) return false;
    if (peak <= limit) return true;
    m->err.op = m->rows[m->record.items[when - 1].op].name;
    m->err.site = m->record.items[when - 1].site;
    m->err.doc = buffer == NKI_PSUM ? "trainium_inferentia2_arch" : "nki.language.tile_size";
    nki_fail(&m->err, buffer == NKI_PSUM ? "psum-capacity" : "sbuf-capacity",
             "tensors live at once need %" PRId64 " bytes of each partition of %s, which has %" PRId64, peak,
             nki_buffer_names[buffer], limit);
    nki_error_want(&m->err, "at most %" PRId64 " bytes per partition", limit);
    nki_error_got(&m->err, "%" PRId64 " bytes", peak);
    nki_error_limit(&m->err, limit);
    // The biggest, at most five.
    uint32_t chosen[5];
    int have = 0;
    for (uint32_t i = 0; i < m->storage_count; i++) {
        const struct nki_storage *st = m->storages[i];
        if (!counted(st, buffer) || st->first_write > when || st->last_read < when) continue;
        int k = have;
        while (k > 0 && bytes_of(m->storages[chosen[k - 1]]) < bytes_of(st)) k--;
        if (k == 5) continue;
        if (have < 5) have++;
        for (int q = have - 1; q > k; q--) chosen[q] = chosen[q - 1];
        chosen[k] = i;
    }
    for (int k = 0; k < have; k++) {
        struct nki_view v;
        nki_view_of(&v, m->storages[chosen[k]]);
        nki_error_view(&m->err, m->storages[chosen[k]]->name ? m->storages[chosen[k]]->name : "tensor", &v);
    }
    return false;
}
