// SPDX-License-Identifier: MIT
#include <math.h>
#include <string.h>

#include "trace/analyse.h"

// A hash from a column's integers to rows; dense ranges (ids counted from somewhere) are a plain table.
struct row_map {
    bool dense;
    int64_t low;
    uint64_t size; // entries, or slots (a power of two)
    int32_t *rows; // -1 where free
    size_t bytes;
};

static bool map_rows(struct row_map *map, const struct analyse_table *t, const struct analyse_rows *rows,
                     const struct analyse_column *key, struct analyse_error *err) {
    int64_t low = INT64_MAX, high = INT64_MIN, count = 0, n = analyse_count(t, rows);
    for (int64_t k = 0; k < n; k++) {
        int64_t i = analyse_row(rows, k);
        if (analyse_is_null(key, i)) continue;
        int64_t v = analyse_integer(key, i);
        if (v < low) low = v;
        if (v > high) high = v;
        count++;
    }
    uint64_t range = count ? (uint64_t)high - (uint64_t)low : 0;
    map->dense = range < (uint64_t)count * 4 + 64;
    map->low = count ? low : 0;
    map->size = range + 1;
    if (!map->dense)
        for (map->size = 64; map->size < (uint64_t)count * 2; map->size *= 2) {}
    map->bytes = map->size * sizeof *map->rows;
    map->rows = analyse_take(t->account, map->bytes, err);
    if (!map->rows) return false;
    memset(map->rows, 0xFF, map->bytes);
    for (int64_t k = 0; k < n; k++) {
        int64_t i = analyse_row(rows, k);
        if (analyse_is_null(key, i)) continue;
        int64_t v = analyse_integer(key, i);
        uint64_t at = (uint64_t)v - (uint64_t)map->low;
        if (!map->dense) {
            at = (uint64_t)v * 0x9E3779B97F4A7C15u >> 20 & (map->size - 1);
            while (map->rows[at] >= 0 && analyse_integer(key, map->rows[at]) != v) at = (at + 1) & (map->size - 1);
        }
        if (map->rows[at] < 0) map->rows[at] = (int32_t)i;
    }
    return true;
}

static int32_t map_find(const struct row_map *map, const struct analyse_column *key, int64_t v) {
    uint64_t at = (uint64_t)v - (uint64_t)map->low;
    if (map->dense) return at < map->size ? map->rows[at] : -1;
    at = (uint64_t)v * 0x9E3779B97F4A7C15u >> 20 & (map->size - 1);
    while (map->rows[at] >= 0 && analyse_integer(key, map->rows[at]) != v) at = (at + 1) & (map->size - 1);
    return map->rows[at];
}

static void set_valid(struct analyse_column *c, int64_t row) { c->valid[row >> 6] |= 1ull << (row & 63); }

bool analyse_lookup(struct analyse_table *t, const struct analyse_column *c, const struct analyse_table *other,
                    const struct analyse_rows *among, const struct analyse_column *key, const char *name,
                    struct analyse_error *err) {
    bool text = c->type == ANALYSE_TEXT;
    if (text != (key->type == ANALYSE_TEXT)) return analyse_fail(err, "%s and %s are not of one type", c->name, key->name);
    struct analyse_column *made = analyse_column_add(t, name, ANALYSE_I32, true, err);
    if (!made) return false;
    if (text) { // from code to code by the words
        size_t bytes = (size_t)c->dictionary->count * sizeof(int32_t), rows = (size_t)key->dictionary->count * sizeof(int32_t);
        int32_t *to = analyse_take(t->account, bytes, err), *first = to ? analyse_take(t->account, rows, err) : NULL;
        if (!first) {
            analyse_give(t->account, to, bytes);
            return false;
        }
        memset(first, 0xFF, rows);
        for (int64_t j = 0, n = analyse_count(other, among); j < n; j++) {
            int64_t i = analyse_row(among, j);
            if (key->i32[i] >= 0 && first[key->i32[i]] < 0) first[key->i32[i]] = (int32_t)i;
        }
        for (int32_t k = 0; k < c->dictionary->count; k++) {
            int32_t code = analyse_word_find(key->dictionary, c->dictionary->words[k].text, c->dictionary->words[k].size);
            to[k] = code < 0 ? -1 : first[code];
        }
        for (int64_t i = 0; i < t->rows; i++) {
            made->i32[i] = c->i32[i] < 0 ? -1 : to[c->i32[i]];
            if (made->i32[i] >= 0) set_valid(made, i);
        }
        analyse_give(t->account, first, rows);
        analyse_give(t->account, to, bytes);
        return true;
    }
    struct row_map map = {0};
    if (!map_rows(&map, other, among, key, err)) return false;
    for (int64_t i = 0; i < t->rows; i++) {
        made->i32[i] = analyse_is_null(c, i) ? -1 : map_find(&map, key, analyse_integer(c, i));
        if (made->i32[i] >= 0) set_valid(made, i);
    }
    analyse_give(other->account, map.rows, map.bytes);
    return true;
}

bool analyse_tally(struct analyse_table *t, const struct analyse_column *key, const struct analyse_table *other,
                   const struct analyse_rows *rows, const struct analyse_column *other_key, const struct analyse_column *value,
                   const char *name, struct analyse_error *err) {
    if (key->type == ANALYSE_TEXT || other_key->type == ANALYSE_TEXT || (value && value->type == ANALYSE_TEXT))
        return analyse_fail(err, "a tally is over integers: %s, %s", key->name, other_key->name);
    struct analyse_column *made = analyse_column_add(t, name, ANALYSE_I64, false, err);
    struct row_map map = {0};
    if (!made || !map_rows(&map, t, NULL, key, err)) return false;
    if (t->rows) memset(made->i64, 0, (size_t)t->rows * sizeof *made->i64);
    bool fine = true;
    for (int64_t k = 0, n = analyse_count(other, rows); k < n && fine; k++) {
        int64_t i = analyse_row(rows, k);
        if (analyse_is_null(other_key, i) || (value && analyse_is_null(value, i))) continue;
        int32_t row = map_find(&map, key, analyse_integer(other_key, i));
        if (row < 0) continue;
        int64_t sum;
        if (__builtin_add_overflow(made->i64[row], value ? analyse_integer(value, i) : 1, &sum))
            fine = analyse_fail(err, "a sum of %s leaves 64 bits", value->name);
        else made->i64[row] = sum;
    }
    analyse_give(t->account, map.rows, map.bytes);
    return fine;
}

bool analyse_running(struct analyse_table *t, const struct analyse_rows *in, const struct analyse_column *c, int64_t initial,
                     const char *name, struct analyse_error *err) {
    if (c->type == ANALYSE_TEXT) return analyse_fail(err, "the column %s holds text, numbers are expected", c->name);
    struct analyse_column *made = analyse_column_add(t, name, ANALYSE_I64, true, err);
    if (!made) return false;
    if (t->rows) memset(made->i64, 0, (size_t)t->rows * sizeof *made->i64);
    int64_t most = initial;
    for (int64_t k = 0, n = analyse_count(t, in); k < n; k++) {
        int64_t i = analyse_row(in, k);
        made->i64[i] = most;
        set_valid(made, i);
        if (!analyse_is_null(c, i) && analyse_integer(c, i) > most) most = analyse_integer(c, i);
    }
    return true;
}

bool analyse_bits(struct analyse_table *t, const struct analyse_column *c, int shift, int width, const char *name,
                  struct analyse_error *err) {
    if (c->type == ANALYSE_TEXT) return analyse_fail(err, "the column %s holds text, numbers are expected", c->name);
    struct analyse_column *made = analyse_column_add(t, name, ANALYSE_I32, true, err);
    if (!made) return false;
    for (int64_t i = 0; i < t->rows; i++) {
        uint64_t bits = analyse_is_null(c, i) ? 0 : (uint64_t)analyse_integer(c, i);
        made->i32[i] = (int32_t)(bits >> shift & ((1ull << width) - 1));
        if (made->i32[i]) set_valid(made, i);
    }
    return true;
}

bool analyse_table_adopt(struct analyse_table *t, struct analyse_table *from, struct analyse_error *err) {
    if (t->rows != from->rows || t->account != from->account)
        return analyse_fail(err, "%lld rows, %lld expected: the profile was changed meanwhile", (long long)from->rows, (long long)t->rows);
    for (int k = 0; k < from->count; k++) {
        if (analyse_column_find(t, from->columns[k].name)) continue;
        if (t->count == ANALYSE_MAX_COLUMNS) return analyse_fail(err, "more than %d columns", ANALYSE_MAX_COLUMNS);
        t->columns[t->count++] = from->columns[k];
        from->columns[k] = (struct analyse_column){0};
    }
    t->bytes += from->bytes; // dropping what stayed behind takes its part back
    from->bytes = 0;
    return true;
}

bool analyse_shift(struct analyse_table *t, const struct analyse_rows *in, const struct analyse_column *c, const char *name,
                   struct analyse_error *err) {
    bool text = c->type == ANALYSE_TEXT;
    struct analyse_column *made = analyse_column_add(t, name, c->type, !text, err);
    if (!made) return false;
    if (text) {
        made->dictionary = c->dictionary;
        c->dictionary->references++;
        for (int64_t i = 0; i < t->rows; i++) made->i32[i] = -1;
    } else if (t->rows) memset(made->data, 0, (size_t)t->rows * (c->type == ANALYSE_I32 ? 4 : 8));
    int64_t before = -1;
    for (int64_t k = 0, n = analyse_count(t, in); k < n; k++) {
        int64_t i = analyse_row(in, k);
        if (before >= 0 && !analyse_is_null(c, before)) {
            if (text || c->type == ANALYSE_I32) made->i32[i] = c->i32[before];
            else made->i64[i] = c->i64[before]; // floats, too: the same 64 bits
            if (!text) set_valid(made, i);
        }
        before = i;
    }
    return true;
}

bool analyse_fetch(struct analyse_table *t, const struct analyse_column *at, const struct analyse_column *from,
                   const char *name, struct analyse_error *err) {
    if (at->type != ANALYSE_I32) return analyse_fail(err, "%s names no rows", at->name);
    bool text = from->type == ANALYSE_TEXT;
    struct analyse_column *made = analyse_column_add(t, name, from->type, !text, err);
    if (!made) return false;
    if (text) {
        made->dictionary = from->dictionary;
        from->dictionary->references++;
    }
    for (int64_t i = 0; i < t->rows; i++) {
        int64_t row = analyse_is_null(at, i) ? -1 : at->i32[i];
        bool null = row < 0 || analyse_is_null(from, row);
        if (text) made->i32[i] = null ? -1 : from->i32[row];
        else if (from->type == ANALYSE_I32) made->i32[i] = null ? 0 : from->i32[row];
        else made->i64[i] = null ? 0 : from->i64[row]; // floats, too: the same 64 bits
        if (!null && !text) set_valid(made, i);
    }
    return true;
}

bool analyse_compute(struct analyse_table *t, const struct analyse_column *a, char op, const struct analyse_column *b,
                     double number, const char *name, struct analyse_error *err) {
    if (a->type == ANALYSE_TEXT || (b && b->type == ANALYSE_TEXT))
        return analyse_fail(err, "the column %s holds text, numbers are expected", a->type == ANALYSE_TEXT ? a->name : b->name);
    bool real = op == '/' || a->type == ANALYSE_F64 || (b ? b->type == ANALYSE_F64 : number != floor(number) || fabs(number) > 9e15);
    struct analyse_column *made = analyse_column_add(t, name, real ? ANALYSE_F64 : ANALYSE_I64, true, err);
    if (!made) return false;
    for (int64_t i = 0; i < t->rows; i++) {
        made->i64[i] = 0;
        if (analyse_is_null(a, i) || (b && analyse_is_null(b, i))) continue;
        if (real) {
            double x = analyse_number(a, i), y = b ? analyse_number(b, i) : number, z = 0;
            if (op == '/' && y == 0) continue;
            switch (op) {
            case '+': z = x + y; break;
            case '-': z = x - y; break;
            case '*': z = x * y; break;
            case '/': z = x / y; break;
            case 'm': z = x < y ? x : y; break;
            default: z = x > y ? x : y; break;
            }
            made->f64[i] = z;
        } else {
            int64_t x = analyse_integer(a, i), y = b ? analyse_integer(b, i) : (int64_t)number, z = 0;
            bool over = false;
            switch (op) {
            case '+': over = __builtin_add_overflow(x, y, &z); break;
            case '-': over = __builtin_sub_overflow(x, y, &z); break;
            case '*': over = __builtin_mul_overflow(x, y, &z); break;
            case 'm': z = x < y ? x : y; break;
            default: z = x > y ? x : y; break;
            }
            if (over) return analyse_fail(err, "%s %c %s leaves 64 bits", a->name, op, b ? b->name : "a number");
            made->i64[i] = z;
        }
        set_valid(made, i);
    }
    return true;
}

bool analyse_step(struct analyse_table *t, const struct analyse_rows *in, const struct analyse_column *c,
                  const struct analyse_column *key, const char *name, struct analyse_error *err) {
    struct analyse_groups g = {0};
    if (!analyse_group(t, in, key ? 1 : 0, &key, &g, err)) return false;
    struct analyse_column *made = analyse_column_add(t, name, ANALYSE_I64, true, err);
    size_t bytes = (size_t)g.count * sizeof(int64_t);
    int64_t *last = made ? analyse_take(t->account, bytes, err) : NULL;
    if (last) {
        memset(last, 0xFF, bytes);
        memset(made->i64, 0, (size_t)t->rows * sizeof *made->i64);
        for (int64_t i = 0; i < g.rows; i++) {
            int64_t row = analyse_row(in, i), before = last[g.group[i]];
            if (analyse_is_null(c, row)) continue;
            last[g.group[i]] = row;
            if (before < 0) continue;
            // Of text the codes: equal codes are equal texts.
            made->i64[row] = (int64_t)((uint64_t)analyse_integer(c, row) - (uint64_t)analyse_integer(c, before));
            set_valid(made, row);
        }
    }
    analyse_give(t->account, last, bytes);
    analyse_groups_close(&g);
    return last != NULL;
}
