// SPDX-License-Identifier: MIT
#include <math.h>
#include <string.h>

#include "trace/analyse.h"

static bool numeric(const struct analyse_column *c, struct analyse_error *err) {
    return c->type != ANALYSE_TEXT ? true : analyse_fail(err, "the column %s holds text, numbers are expected", c->name);
}

bool analyse_where_number(const struct analyse_table *t, const struct analyse_rows *in, const struct analyse_column *c,
                          enum analyse_test test, double value, struct analyse_rows *out, struct analyse_error *err) {
    int64_t n = analyse_count(t, in), kept = 0;
    if (!numeric(c, err) || !analyse_rows_init(out, t->account, n, err)) return false;
    for (int64_t i = 0; i < n; i++) {
        int64_t row = analyse_row(in, i);
        if (analyse_is_null(c, row)) continue;
        double x = analyse_number(c, row);
        bool yes = false;
        switch (test) {
        case ANALYSE_EQ: yes = x == value; break;
        case ANALYSE_NE: yes = x != value; break;
        case ANALYSE_LT: yes = x < value; break;
        case ANALYSE_LE: yes = x <= value; break;
        case ANALYSE_GT: yes = x > value; break;
        case ANALYSE_GE: yes = x >= value; break;
        }
        out->index[kept] = (uint32_t)row;
        kept += yes;
    }
    analyse_rows_fit(out, kept);
    return true;
}

bool analyse_where_code(const struct analyse_table *t, const struct analyse_rows *in, const struct analyse_column *c,
                        const uint8_t *accept, bool accept_null, struct analyse_rows *out, struct analyse_error *err) {
    int64_t n = analyse_count(t, in), kept = 0;
    if (c->type != ANALYSE_TEXT) return analyse_fail(err, "the column %s holds numbers, text is expected", c->name);
    if (!analyse_rows_init(out, t->account, n, err)) return false;
    for (int64_t i = 0; i < n; i++) {
        int64_t row = analyse_row(in, i);
        int32_t code = c->i32[row];
        out->index[kept] = (uint32_t)row;
        kept += code < 0 ? accept_null : accept[code] != 0;
    }
    analyse_rows_fit(out, kept);
    return true;
}

bool analyse_where_null(const struct analyse_table *t, const struct analyse_rows *in, const struct analyse_column *c, bool null,
                        struct analyse_rows *out, struct analyse_error *err) {
    int64_t n = analyse_count(t, in), kept = 0;
    if (!analyse_rows_init(out, t->account, n, err)) return false;
    for (int64_t i = 0; i < n; i++) {
        int64_t row = analyse_row(in, i);
        out->index[kept] = (uint32_t)row;
        kept += analyse_is_null(c, row) == null;
    }
    analyse_rows_fit(out, kept);
    return true;
}

// A key whose unsigned order is the value's order; NULL is the least.
static uint64_t order_key(const struct analyse_column *c, int64_t row) {
    if (analyse_is_null(c, row)) return 0;
    uint64_t key;
    if (c->type == ANALYSE_F64) {
        double f = c->f64[row];
        if (isnan(f)) return UINT64_MAX;
        memcpy(&key, &f, 8);
        key = key >> 63 ? ~key : key | 1ull << 63;
    } else key = (uint64_t)analyse_integer(c, row) ^ 1ull << 63;
    return key ? key : 1;
}

struct keyed {
    uint64_t key;
    uint32_t row;
};

// Radix sort, 11 bits a pass, over the bits in which the keys differ. `other` is scratch of the same size.
static void sort_keyed(struct keyed *list, struct keyed *other, int64_t n) {
    if (n < 2) return;
    uint64_t low = UINT64_MAX, high = 0;
    bool sorted = true;
    for (int64_t i = 0; i < n; i++) {
        if (list[i].key < low) low = list[i].key;
        if (list[i].key > high) high = list[i].key;
        sorted = sorted && (i == 0 || list[i - 1].key <= list[i].key);
    }
    if (sorted) return;
    struct keyed *from = list, *to = other;
    for (int shift = 0; shift < 64 && (high - low) >> shift; shift += 11) {
        int64_t place[2048] = {0}, sum = 0;
        for (int64_t i = 0; i < n; i++) place[(from[i].key - low) >> shift & 2047]++;
        for (int k = 0; k < 2048; k++) {
            int64_t count = place[k];
            place[k] = sum;
            sum += count;
        }
        for (int64_t i = 0; i < n; i++) to[place[(from[i].key - low) >> shift & 2047]++] = from[i];
        struct keyed *swap = from;
        from = to, to = swap;
    }
    if (from != list) memcpy(list, from, (size_t)n * sizeof *list);
}

bool analyse_order(const struct analyse_table *t, const struct analyse_rows *in, const struct analyse_column *c,
                   struct analyse_rows *out, struct analyse_error *err) {
    int64_t n = analyse_count(t, in);
    size_t bytes = (size_t)n * 2 * sizeof(struct keyed);
    if (!numeric(c, err)) return false;
    struct keyed *list = analyse_take(t->account, bytes, err);
    bool fine = list && analyse_rows_init(out, t->account, n, err);
    if (fine) {
        for (int64_t i = 0; i < n; i++) {
            uint32_t row = (uint32_t)analyse_row(in, i);
            list[i] = (struct keyed){order_key(c, row), row};
        }
        sort_keyed(list, list + n, n);
        for (int64_t i = 0; i < n; i++) out->index[i] = list[i].row;
    }
    analyse_give(t->account, list, bytes);
    return fine;
}

bool analyse_distinct(const struct analyse_table *t, const struct analyse_rows *in, int keys,
                      const struct analyse_column *const *columns, struct analyse_rows *out, struct analyse_error *err) {
    struct analyse_groups g;
    if (!analyse_group(t, in, keys, columns, &g, err)) return false;
    bool fine = analyse_rows_init(out, t->account, g.count, err);
    if (fine && g.count) memcpy(out->index, g.first, (size_t)g.count * sizeof *g.first);
    analyse_groups_close(&g);
    return fine;
}

bool analyse_best(const struct analyse_table *t, const struct analyse_rows *in, int keys,
                  const struct analyse_column *const *columns, const struct analyse_column *value, struct analyse_rows *out,
                  struct analyse_error *err) {
    struct analyse_groups g;
    if (!numeric(value, err) || !analyse_group(t, in, keys, columns, &g, err)) return false;
    bool fine = analyse_rows_init(out, t->account, g.count, err);
    if (fine) {
        if (g.count) memcpy(out->index, g.first, (size_t)g.count * sizeof *g.first);
        for (int64_t i = 0; i < g.rows; i++) {
            uint32_t row = (uint32_t)analyse_row(in, i), *best = out->index + g.group[i];
            if (order_key(value, row) > order_key(value, *best)) *best = row;
        }
    }
    analyse_groups_close(&g);
    return fine;
}

// Intervals -------------------------------------------------------------------------------------------------------------

bool analyse_interval_sort(struct analyse_interval *list, int64_t n, struct account *account, struct analyse_error *err) {
    int64_t low = INT64_MAX, high = INT64_MIN;
    bool sorted = true;
    for (int64_t i = 0; i < n; i++) {
        if (list[i].start < low) low = list[i].start;
        if (list[i].start > high) high = list[i].start;
        sorted = sorted && (i == 0 || list[i - 1].start <= list[i].start);
    }
    if (sorted) return true;
    size_t bytes = (size_t)n * sizeof *list;
    struct analyse_interval *other = analyse_take(account, bytes, err), *from = list, *to = other;
    if (!other) return false;
    uint64_t base = (uint64_t)low, range = (uint64_t)high - base;
    for (int shift = 0; shift < 64 && range >> shift; shift += 11) {
        int64_t place[2048] = {0}, sum = 0;
        for (int64_t i = 0; i < n; i++) place[((uint64_t)from[i].start - base) >> shift & 2047]++;
        for (int k = 0; k < 2048; k++) {
            int64_t count = place[k];
            place[k] = sum;
            sum += count;
        }
        for (int64_t i = 0; i < n; i++) to[place[((uint64_t)from[i].start - base) >> shift & 2047]++] = from[i];
        struct analyse_interval *swap = from;
        from = to, to = swap;
    }
    if (from != list) memcpy(list, from, bytes);
    analyse_give(account, other, bytes);
    return true;
}

int64_t analyse_interval_union(const struct analyse_interval *list, int64_t n) {
    int64_t total = 0, reach = INT64_MIN;
    for (int64_t i = 0; i < n; i++) {
        int64_t from = list[i].start > reach ? list[i].start : reach;
        if (list[i].end > from) total += list[i].end - from, reach = list[i].end;
    }
    return total;
}

// Merge in place to disjoint intervals one at a time: the next merged interval from *at on.
static bool next_merged(const struct analyse_interval *list, int64_t n, int64_t *at, struct analyse_interval *out) {
    if (*at >= n) return false;
    *out = list[(*at)++];
    while (*at < n && list[*at].start <= out->end) {
        if (list[*at].end > out->end) out->end = list[*at].end;
        ++*at;
    }
    return true;
}

int64_t analyse_interval_common(const struct analyse_interval *a, int64_t n, const struct analyse_interval *b, int64_t m) {
    int64_t i = 0, j = 0, total = 0;
    struct analyse_interval x, y;
    bool have_x = next_merged(a, n, &i, &x), have_y = next_merged(b, m, &j, &y);
    while (have_x && have_y) {
        int64_t from = x.start > y.start ? x.start : y.start, to = x.end < y.end ? x.end : y.end;
        if (to > from) total += to - from;
        if (x.end < y.end) have_x = next_merged(a, n, &i, &x);
        else have_y = next_merged(b, m, &j, &y);
    }
    return total;
}

bool analyse_intervals(const struct analyse_table *t, const struct analyse_rows *in, const struct analyse_column *start,
                       const struct analyse_column *end, int64_t t0, int64_t t1, struct analyse_interval **out,
                       int64_t *count, int64_t *capacity, struct analyse_error *err) {
    int64_t n = analyse_count(t, in), kept = 0;
    *out = NULL;
    if (!numeric(start, err) || !numeric(end, err)) return false;
    struct analyse_interval *list = analyse_take(t->account, (size_t)n * sizeof *list, err);
    if (!list) return false;
    t0 = t0 < -ANALYSE_FAR ? -ANALYSE_FAR : t0, t1 = t1 > ANALYSE_FAR ? ANALYSE_FAR : t1;
    for (int64_t i = 0; i < n; i++) {
        int64_t row = analyse_row(in, i);
        if (analyse_is_null(start, row) || analyse_is_null(end, row)) continue;
        int64_t s = analyse_integer(start, row), e = analyse_integer(end, row);
        s = s < t0 ? t0 : s, e = e > t1 ? t1 : e;
        if (e > s) list[kept++] = (struct analyse_interval){s, e};
    }
    if (!analyse_interval_sort(list, kept, t->account, err)) {
        analyse_give(t->account, list, (size_t)n * sizeof *list);
        return false;
    }
    *out = list, *count = kept, *capacity = n;
    return true;
}
