// SPDX-License-Identifier: MIT
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "trace/analyse.h"

// A value as 64 bits that are equal exactly when the values are.
static uint64_t bits_of(const struct analyse_column *c, int64_t row) {
    if (analyse_is_null(c, row)) return 0x8000000000000001u;
    if (c->type != ANALYSE_F64) return (uint64_t)analyse_integer(c, row);
    double f = c->f64[row] == 0 ? 0 : c->f64[row]; // -0 is 0
    uint64_t bits;
    memcpy(&bits, &f, 8);
    return bits;
}

static bool equal_rows(int keys, const struct analyse_column *const *columns, int64_t a, int64_t b) {
    for (int k = 0; k < keys; k++)
        if (bits_of(columns[k], a) != bits_of(columns[k], b) || analyse_is_null(columns[k], a) != analyse_is_null(columns[k], b))
            return false;
    return true;
}

void analyse_groups_close(struct analyse_groups *g) {
    analyse_give(g->account, g->group, g->group_bytes);
    analyse_give(g->account, g->first, g->first_bytes);
    *g = (struct analyse_groups){0};
}

static bool groups_room(struct analyse_groups *g, uint32_t **slots, size_t *slot_count, uint64_t **hashes,
                        struct analyse_error *err) {
    // Twice as many slots: every group is put in again by the hash of its first row, which is kept.
    size_t old_slots = *slot_count, want = old_slots ? old_slots * 2 : 256, half = old_slots / 2;
    uint32_t *fresh = analyse_take(g->account, want * sizeof *fresh, err);
    uint64_t *kept = fresh ? analyse_take(g->account, want / 2 * sizeof *kept, err) : NULL;
    uint32_t *first = kept ? analyse_take(g->account, want / 2 * sizeof *first, err) : NULL;
    if (!first) {
        analyse_give(g->account, fresh, want * sizeof *fresh);
        analyse_give(g->account, kept, want / 2 * sizeof *kept);
        return false;
    }
    memset(fresh, 0xFF, want * sizeof *fresh);
    if (g->count) {
        memcpy(kept, *hashes, (size_t)g->count * sizeof *kept);
        memcpy(first, g->first, (size_t)g->count * sizeof *first);
    }
    for (int64_t i = 0; i < g->count; i++) {
        size_t at = kept[i] & (want - 1);
        while (fresh[at] != UINT32_MAX) at = (at + 1) & (want - 1);
        fresh[at] = (uint32_t)i;
    }
    analyse_give(g->account, *slots, old_slots * sizeof **slots);
    analyse_give(g->account, *hashes, half * sizeof **hashes);
    analyse_give(g->account, g->first, g->first_bytes);
    *slots = fresh, *hashes = kept, *slot_count = want;
    g->first = first, g->first_bytes = want / 2 * sizeof *first;
    return true;
}

bool analyse_group(const struct analyse_table *t, const struct analyse_rows *in, int keys,
                   const struct analyse_column *const *columns, struct analyse_groups *g, struct analyse_error *err) {
    int64_t n = analyse_count(t, in), last = -1;
    *g = (struct analyse_groups){.account = t->account, .rows = n, .group_bytes = (size_t)n * sizeof *g->group};
    g->group = analyse_take(t->account, g->group_bytes, err);
    uint32_t *slots = NULL;
    uint64_t *hashes = NULL;
    size_t slot_count = 0;
    bool fine = g->group != NULL;
    for (int64_t i = 0; i < n && fine; i++) {
        int64_t row = analyse_row(in, i);
        if (last >= 0 && equal_rows(keys, columns, last, row)) { // neighbours are often of one group
            g->group[i] = g->group[i - 1];
            last = row;
            continue;
        }
        last = row;
        uint64_t h = 0;
        for (int k = 0; k < keys; k++) {
            h = (h ^ bits_of(columns[k], row)) * 0xFF51AFD7ED558CCDu;
            h ^= h >> 29;
        }
        if ((size_t)g->count * 2 >= slot_count && !groups_room(g, &slots, &slot_count, &hashes, err)) {
            fine = false;
            break;
        }
        size_t at = h & (slot_count - 1);
        while (slots[at] != UINT32_MAX && !(hashes[slots[at]] == h && equal_rows(keys, columns, g->first[slots[at]], row)))
            at = (at + 1) & (slot_count - 1);
        if (slots[at] == UINT32_MAX) {
            slots[at] = (uint32_t)g->count;
            hashes[g->count] = h;
            g->first[g->count++] = (uint32_t)row;
        }
        g->group[i] = slots[at];
    }
    analyse_give(t->account, slots, slot_count * sizeof *slots);
    analyse_give(t->account, hashes, slot_count / 2 * sizeof *hashes);
    if (!fine) analyse_groups_close(g);
    return fine;
}

// Aggregates ------------------------------------------------------------------------------------------------------------

// The rows of each group together: begin[k] .. begin[k + 1] of `sorted`, in the order of `in`; those with NULL left out.
static bool by_group(const struct analyse_table *t, const struct analyse_rows *in, const struct analyse_groups *g,
                     const struct analyse_column *c, uint32_t **sorted, int64_t **begin, struct analyse_error *err) {
    *sorted = analyse_take(t->account, (size_t)g->rows * sizeof **sorted, err);
    *begin = *sorted ? analyse_take(t->account, (size_t)(g->count + 2) * sizeof **begin, err) : NULL;
    if (!*begin) {
        analyse_give(t->account, *sorted, (size_t)g->rows * sizeof **sorted);
        return false;
    }
    int64_t *at = *begin + 1;
    memset(*begin, 0, (size_t)(g->count + 2) * sizeof **begin);
    for (int64_t i = 0; i < g->rows; i++)
        if (!analyse_is_null(c, analyse_row(in, i))) at[g->group[i] + 1]++;
    for (int64_t k = 0; k < g->count; k++) at[k + 1] += at[k];
    // at[k] is where group k begins; filling moves it to where it ends, which is where begin[k + 1] is read.
    for (int64_t i = 0; i < g->rows; i++) {
        uint32_t row = (uint32_t)analyse_row(in, i);
        if (!analyse_is_null(c, row)) (*sorted)[at[g->group[i]]++] = row;
    }
    return true;
}

static void by_group_close(const struct analyse_table *t, const struct analyse_groups *g, uint32_t *sorted, int64_t *begin) {
    analyse_give(t->account, sorted, (size_t)g->rows * sizeof *sorted);
    analyse_give(t->account, begin, (size_t)(g->count + 2) * sizeof *begin);
}

static double select_nth(double *v, int64_t n, int64_t k) {
    int64_t low = 0, high = n - 1;
    while (low < high) {
        double pivot = v[low + (high - low) / 2];
        int64_t i = low, j = high;
        while (i <= j) {
            while (v[i] < pivot) i++;
            while (v[j] > pivot) j--;
            if (i <= j) {
                double swap = v[i];
                v[i++] = v[j];
                v[j--] = swap;
            }
        }
        if (k <= j) high = j;
        else if (k >= i) low = i;
        else break;
    }
    return v[k];
}

static double quantile(double *v, int64_t n, double q) {
    double place = q * (double)(n - 1);
    int64_t low = (int64_t)floor(place), high = (int64_t)ceil(place);
    double a = select_nth(v, n, low), b = high > low ? select_nth(v, n, high) : a;
    return a + (b - a) * (place - (double)low);
}

static int compare_bits(const void *x, const void *y) {
    uint64_t a = *(const uint64_t *)x, b = *(const uint64_t *)y;
    return (a > b) - (a < b);
}

static bool over_lists(const struct analyse_table *t, const struct analyse_rows *in, const struct analyse_groups *g,
                       const struct analyse_request *r, struct analyse_value *out, struct analyse_error *err) {
    uint32_t *sorted;
    int64_t *begin;
    if (!by_group(t, in, g, r->column, &sorted, &begin, err)) return false;
    size_t bytes = (size_t)g->rows * 16; // one value, or one interval, a row
    void *scratch = analyse_take(t->account, bytes, err);
    bool fine = scratch != NULL;
    int64_t t0 = r->t0 < -ANALYSE_FAR ? -ANALYSE_FAR : r->t0, t1 = r->t1 > ANALYSE_FAR ? ANALYSE_FAR : r->t1;
    for (int64_t k = 0; k < g->count && fine; k++) {
        const uint32_t *rows = sorted + begin[k];
        int64_t n = begin[k + 1] - begin[k];
        out[k] = (struct analyse_value){0};
        if (r->kind == ANALYSE_QUANTILE && n > 0) {
            double *v = scratch;
            for (int64_t i = 0; i < n; i++) v[i] = analyse_number(r->column, rows[i]);
            out[k] = (struct analyse_value){.kind = ANALYSE_FLOAT, .f = quantile(v, n, r->fraction)};
        } else if (r->kind == ANALYSE_UNION) {
            struct analyse_interval *list = scratch;
            int64_t kept = 0;
            for (int64_t i = 0; i < n; i++) {
                if (analyse_is_null(r->second, rows[i])) continue;
                int64_t s = analyse_integer(r->column, rows[i]), e = analyse_integer(r->second, rows[i]);
                s = s < t0 ? t0 : s, e = e > t1 ? t1 : e;
                if (e > s) list[kept++] = (struct analyse_interval){s, e};
            }
            fine = analyse_interval_sort(list, kept, t->account, err);
            out[k] = (struct analyse_value){.kind = ANALYSE_INTEGER, .i = analyse_interval_union(list, kept)};
        } else if (r->kind == ANALYSE_DISTINCT || (r->kind == ANALYSE_MODE && n > 0)) {
            uint64_t *v = scratch, best = 0;
            int64_t distinct = 0, most = 0;
            bool tie = false;
            for (int64_t i = 0; i < n; i++) v[i] = bits_of(r->column, rows[i]);
            qsort(v, (size_t)n, sizeof *v, compare_bits);
            for (int64_t i = 0, j; i < n; i = j, distinct++) {
                for (j = i + 1; j < n && v[j] == v[i]; j++) {}
                if (j - i == most) tie = true;
                if (j - i > most) most = j - i, best = v[i], tie = false;
            }
            if (r->kind == ANALYSE_DISTINCT) {
                out[k] = (struct analyse_value){.kind = ANALYSE_INTEGER, .i = distinct};
                continue;
            }
            for (int64_t i = 0; i < n; i++) {
                uint64_t bits = bits_of(r->column, rows[i]);
                if (!tie ? bits != best : false) continue;
                if (tie) { // the first value that is as frequent as the most frequent
                    uint64_t *at = bsearch(&bits, v, (size_t)n, sizeof *v, compare_bits), *low = at, *high = at;
                    while (low > v && low[-1] == bits) low--;
                    while (high < v + n && *high == bits) high++;
                    if (high - low != most) continue;
                }
                out[k] = (struct analyse_value){.kind = ANALYSE_ROW, .i = rows[i]};
                break;
            }
        }
    }
    analyse_give(t->account, scratch, bytes);
    by_group_close(t, g, sorted, begin);
    return fine;
}

static bool over_sums(const struct analyse_table *t, const struct analyse_rows *in, const struct analyse_groups *g,
                      const struct analyse_request *r, struct analyse_value *out, struct analyse_error *err) {
    const struct analyse_column *c = r->column;
    bool mean = r->kind == ANALYSE_MEAN, real = c->type == ANALYSE_F64 || mean;
    size_t bytes = mean ? (size_t)g->count * sizeof(int64_t) : 0;
    int64_t *seen = mean ? analyse_take(t->account, bytes, err) : NULL;
    if (mean && !seen) return false;
    if (mean) memset(seen, 0, bytes);
    for (int64_t i = 0; i < g->rows; i++) {
        int64_t row = analyse_row(in, i);
        if (analyse_is_null(c, row)) continue;
        struct analyse_value *v = out + g->group[i];
        if (mean) seen[g->group[i]]++;
        if (v->kind == ANALYSE_NOTHING) {
            *v = real ? (struct analyse_value){.kind = ANALYSE_FLOAT, .f = analyse_number(c, row)}
                      : (struct analyse_value){.kind = ANALYSE_INTEGER, .i = analyse_integer(c, row)};
            continue;
        }
        if (r->kind == ANALYSE_MIN || r->kind == ANALYSE_MAX) {
            bool less = real ? analyse_number(c, row) < v->f : analyse_integer(c, row) < v->i;
            bool more = real ? analyse_number(c, row) > v->f : analyse_integer(c, row) > v->i;
            if (r->kind == ANALYSE_MIN ? !less : !more) continue;
            if (real) v->f = analyse_number(c, row);
            else v->i = analyse_integer(c, row);
        } else if (v->kind == ANALYSE_FLOAT) v->f += analyse_number(c, row);
        else {
            int64_t sum;
            if (__builtin_add_overflow(v->i, analyse_integer(c, row), &sum))
                *v = (struct analyse_value){.kind = ANALYSE_FLOAT, .f = (double)v->i + analyse_number(c, row)};
            else v->i = sum;
        }
    }
    for (int64_t k = 0; mean && k < g->count; k++)
        if (seen[k]) out[k].f /= (double)seen[k];
    analyse_give(t->account, seen, bytes);
    return true;
}

bool analyse_aggregate(const struct analyse_table *t, const struct analyse_rows *in, const struct analyse_groups *g,
                       const struct analyse_request *r, struct analyse_value *out, struct analyse_error *err) {
    const struct analyse_column *c = r->column;
    bool number = r->kind == ANALYSE_SUM || r->kind == ANALYSE_MIN || r->kind == ANALYSE_MAX || r->kind == ANALYSE_MEAN ||
                  r->kind == ANALYSE_QUANTILE || r->kind == ANALYSE_UNION;
    if (r->kind != ANALYSE_COUNT && !c) return analyse_fail(err, "this aggregate needs a column");
    if (number && c->type == ANALYSE_TEXT) return analyse_fail(err, "the column %s holds text, numbers are expected", c->name);
    if (r->kind == ANALYSE_UNION && (!r->second || r->second->type == ANALYSE_TEXT))
        return analyse_fail(err, "a union needs two columns of numbers");
    for (int64_t k = 0; k < g->count; k++) out[k] = (struct analyse_value){0};
    switch (r->kind) {
    case ANALYSE_COUNT:
        for (int64_t k = 0; k < g->count; k++) out[k].kind = ANALYSE_INTEGER;
        for (int64_t i = 0; i < g->rows; i++) out[g->group[i]].i += !c || !analyse_is_null(c, analyse_row(in, i));
        return true;
    case ANALYSE_ANY:
        for (int64_t i = 0; i < g->rows; i++) {
            int64_t row = analyse_row(in, i);
            if (out[g->group[i]].kind == ANALYSE_NOTHING && !analyse_is_null(c, row))
                out[g->group[i]] = (struct analyse_value){.kind = ANALYSE_ROW, .i = row};
        }
        return true;
    case ANALYSE_SUM:
    case ANALYSE_MIN:
    case ANALYSE_MAX:
    case ANALYSE_MEAN: return over_sums(t, in, g, r, out, err);
    default: return over_lists(t, in, g, r, out, err);
    }
}
