// SPDX-License-Identifier: MIT
// analyse.h: tables in columns, and the few operations that the analysis of a profile is made of. Plain C.
//
// A `struct analyse_table` holds the result of one SQL query as columns: integers (32 bits while they fit, 64 otherwise),
// float64, or text as codes into a dictionary of its distinct values. NULL is a code of -1, or a cleared bit of `valid`. A
// `struct analyse_rows` is a list of row numbers, ascending unless a function says otherwise; NULL in its place means every
// row. Functions that compare or add read integers exactly and give integers; a sum that leaves 64 bits becomes a float.
// Who owns what: a table owns its columns (a dictionary may be shared, counted), the caller owns the structs. Zeroed
// structs are closed; closing twice is fine. Bytes are charged to the account given at creation.
// What can fail: memory, a column that is not there or of the wrong type, more than 2^31 - 2 rows; false with a message.
#ifndef NKILN_TRACE_ANALYSE_H
#define NKILN_TRACE_ANALYSE_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include "account.h"

#define ANALYSE_MAX_COLUMNS 64
#define ANALYSE_MAX_KEYS 16
#define ANALYSE_MAX_ROWS 0x7FFFFFFE

enum analyse_type { ANALYSE_EMPTY, ANALYSE_I32, ANALYSE_I64, ANALYSE_F64, ANALYSE_TEXT };

struct analyse_error {
    char message[200];
};

struct analyse_dictionary {
    int references;
    int32_t count, room;
    struct analyse_word {
        char *text;
        uint32_t size, hash;
    } *words;
    int32_t *slots; // a power of two, -1 where free
    uint32_t slot_count;
    struct account *account;
    size_t bytes;
};

struct analyse_column {
    char name[64];
    enum analyse_type type;
    union {
        int32_t *i32; // codes of text, too
        int64_t *i64;
        double *f64;
        void *data;
    };
    int64_t room;    // elements allocated
    uint64_t *valid; // NULL: no value is NULL
    struct analyse_dictionary *dictionary;
};

struct analyse_table {
    struct account *account;
    size_t bytes;
    int64_t rows;
    int count;
    struct analyse_column *columns; // ANALYSE_MAX_COLUMNS of them
};

struct analyse_rows {
    struct account *account;
    int64_t count, room;
    uint32_t *index;
};

// Making and closing --------------------------------------------------------------------------------------------------

bool analyse_table_init(struct analyse_table *t, struct account *account, struct analyse_error *err);
void analyse_table_close(struct analyse_table *t);
// Append every row of a prepared and bound statement. *result becomes SQLite's code of the last step (SQLITE_DONE when all
// is well): with another code, or false, the table holds what came before.
bool analyse_table_load(struct analyse_table *t, sqlite3_stmt *stmt, int *result, struct analyse_error *err);
// Append the rows of `other`, which has the same columns in the same order.
bool analyse_table_append(struct analyse_table *t, const struct analyse_table *other, struct analyse_error *err);
struct analyse_column *analyse_column_find(const struct analyse_table *t, const char *name);
// A new column of `rows` elements, its data unset; NULL with a message when there is no room.
struct analyse_column *analyse_column_add(struct analyse_table *t, const char *name, enum analyse_type type, bool nullable,
                                          struct analyse_error *err);
void analyse_column_drop(struct analyse_table *t, struct analyse_column *c);
// The code of a text in a dictionary, added when it is new; -1 without memory. _find: -1 when it is not there.
int32_t analyse_word_add(struct analyse_dictionary *d, const char *text, uint32_t size);
int32_t analyse_word_find(const struct analyse_dictionary *d, const char *text, uint32_t size);
struct analyse_dictionary *analyse_dictionary_new(struct account *account);
void analyse_dictionary_drop(struct analyse_dictionary *d);

// Room for `room` row numbers; `count` is set to it. _fit gives back what a smaller count leaves unused.
bool analyse_rows_init(struct analyse_rows *r, struct account *account, int64_t room, struct analyse_error *err);
void analyse_rows_fit(struct analyse_rows *r, int64_t count);
void analyse_rows_close(struct analyse_rows *r);

bool analyse_fail(struct analyse_error *err, const char *format, ...) __attribute__((format(printf, 2, 3)));
// Memory from an account; NULL with a message at its limit.
void *analyse_take(struct account *account, size_t bytes, struct analyse_error *err);
void analyse_give(struct account *account, void *memory, size_t bytes);

static inline bool analyse_is_null(const struct analyse_column *c, int64_t row) {
    if (c->type == ANALYSE_TEXT) return c->i32[row] < 0;
    return c->valid && !(c->valid[row >> 6] >> (row & 63) & 1);
}
static inline int64_t analyse_whole(double f) { // towards zero, saturating
    return f >= 9.2e18 ? INT64_MAX : f <= -9.2e18 ? INT64_MIN : f == f ? (int64_t)f : 0;
}
static inline int64_t analyse_integer(const struct analyse_column *c, int64_t row) {
    return c->type == ANALYSE_I64 ? c->i64[row] : c->type == ANALYSE_F64 ? analyse_whole(c->f64[row]) : c->i32[row];
}
static inline double analyse_number(const struct analyse_column *c, int64_t row) {
    return c->type == ANALYSE_F64 ? c->f64[row] : c->type == ANALYSE_I64 ? (double)c->i64[row] : c->i32[row];
}
static inline int64_t analyse_row(const struct analyse_rows *r, int64_t i) { return r ? r->index[i] : i; }
static inline int64_t analyse_count(const struct analyse_table *t, const struct analyse_rows *r) {
    return r ? r->count : t->rows;
}

// Choosing rows (analyse_select.c) ------------------------------------------------------------------------------------------
// `out` is closed and becomes the rows of `in` that fulfil the condition; NULL never fulfils one.

enum analyse_test { ANALYSE_EQ, ANALYSE_NE, ANALYSE_LT, ANALYSE_LE, ANALYSE_GT, ANALYSE_GE };
bool analyse_where_number(const struct analyse_table *t, const struct analyse_rows *in, const struct analyse_column *c,
                          enum analyse_test test, double value, struct analyse_rows *out, struct analyse_error *err);
// Rows whose code k has accept[k], of a text column.
bool analyse_where_code(const struct analyse_table *t, const struct analyse_rows *in, const struct analyse_column *c,
                        const uint8_t *accept, bool accept_null, struct analyse_rows *out, struct analyse_error *err);
bool analyse_where_null(const struct analyse_table *t, const struct analyse_rows *in, const struct analyse_column *c, bool null,
                        struct analyse_rows *out, struct analyse_error *err);
// The same rows ordered by a numeric column (NULL first), equal values in the order they had.
bool analyse_order(const struct analyse_table *t, const struct analyse_rows *in, const struct analyse_column *c,
                   struct analyse_rows *out, struct analyse_error *err);
// The first row of each combination of values. NULL equals NULL.
bool analyse_distinct(const struct analyse_table *t, const struct analyse_rows *in, int keys,
                      const struct analyse_column *const *columns, struct analyse_rows *out, struct analyse_error *err);
// For each combination of keys the row with the greatest value; of several the first.
bool analyse_best(const struct analyse_table *t, const struct analyse_rows *in, int keys,
                  const struct analyse_column *const *columns, const struct analyse_column *value, struct analyse_rows *out,
                  struct analyse_error *err);

// Groups (analyse_group.c) -----------------------------------------------------------------------------------------------------

// The group of each row of `in`, numbered in the order they first appear. `group` has analyse_count() elements, `first`
// (allocated here, one row number a group, from the account) is given back with analyse_give.
struct analyse_groups {
    struct account *account;
    int64_t count, rows;
    uint32_t *group, *first;
    size_t group_bytes, first_bytes;
};
bool analyse_group(const struct analyse_table *t, const struct analyse_rows *in, int keys,
                   const struct analyse_column *const *columns, struct analyse_groups *out, struct analyse_error *err);
void analyse_groups_close(struct analyse_groups *g);

// A result a group: a number (is_float tells which), a row of the table whose value is meant, or nothing.
struct analyse_value {
    enum { ANALYSE_NOTHING, ANALYSE_INTEGER, ANALYSE_FLOAT, ANALYSE_ROW } kind;
    union {
        int64_t i; // integer, or row
        double f;
    };
};
enum analyse_aggregate {
    ANALYSE_COUNT,    // rows; with a column, those that are not NULL
    ANALYSE_SUM, ANALYSE_MIN, ANALYSE_MAX, ANALYSE_MEAN,
    ANALYSE_ANY,      // the first value that is not NULL
    ANALYSE_MODE,     // the most frequent value, of several the first
    ANALYSE_QUANTILE, // interpolated, as median and quantile_cont of sqlfn.h
    ANALYSE_DISTINCT, // how many distinct values
    ANALYSE_UNION,    // length of the union of the intervals [column, second), clipped to [t0, t1)
};
struct analyse_request {
    enum analyse_aggregate kind;
    const struct analyse_column *column, *second;
    double fraction;
    int64_t t0, t1;
};
// `out` has one value for each group.
bool analyse_aggregate(const struct analyse_table *t, const struct analyse_rows *in, const struct analyse_groups *g,
                       const struct analyse_request *r, struct analyse_value *out, struct analyse_error *err);

// Windows are cut to +-2^61 ns (73 years), so that lengths and their sums cannot leave 64 bits.
#define ANALYSE_FAR (INT64_C(1) << 61)

// Length of the union of intervals, ns. The arrays are sorted in place by start.
struct analyse_interval {
    int64_t start, end;
};
bool analyse_interval_sort(struct analyse_interval *list, int64_t count, struct account *account, struct analyse_error *err);
int64_t analyse_interval_union(const struct analyse_interval *sorted, int64_t count);
// How much of the union of `a` the union of `b` covers; both sorted.
int64_t analyse_interval_common(const struct analyse_interval *a, int64_t n, const struct analyse_interval *b, int64_t m);
// The intervals of the rows, clipped to [t0, t1), empty and NULL ones left out, sorted. Give back with analyse_give
// (count is a capacity: bytes = capacity * sizeof).
bool analyse_intervals(const struct analyse_table *t, const struct analyse_rows *in, const struct analyse_column *start,
                       const struct analyse_column *end, int64_t t0, int64_t t1, struct analyse_interval **out,
                       int64_t *count, int64_t *capacity, struct analyse_error *err);

// Joining and computing (analyse_join.c) ------------------------------------------------------------------------------------------

// A new column of `t`: the row of `other`, among `rows`, whose `key` equals `c`, NULL where there is none; of several the first.
bool analyse_lookup(struct analyse_table *t, const struct analyse_column *c, const struct analyse_table *other,
                    const struct analyse_rows *rows, const struct analyse_column *key, const char *name,
                    struct analyse_error *err);
// A new column of `t`: how many of the `rows` of `other` have its `key`, or the sum of their `value`; 0 where there is none.
// Both keys hold integers. A key that occurs twice in `t` counts for the first row only.
bool analyse_tally(struct analyse_table *t, const struct analyse_column *key, const struct analyse_table *other,
                   const struct analyse_rows *rows, const struct analyse_column *other_key, const struct analyse_column *value,
                   const char *name, struct analyse_error *err);
// A new column of `t`: the values of `from` (a column of another table) at the rows that `at` (made by lookup) names.
bool analyse_fetch(struct analyse_table *t, const struct analyse_column *at, const struct analyse_column *from,
                   const char *name, struct analyse_error *err);
// A new column: a OP b, or a OP number where b is NULL. '+' '-' '*' '/' 'm' (min) 'M' (max); NULL where either is.
// Integers stay integers except with '/', which gives floats, NULL where the divisor is 0.
bool analyse_compute(struct analyse_table *t, const struct analyse_column *a, char op, const struct analyse_column *b,
                     double number, const char *name, struct analyse_error *err);
// A new column: `width` bits of an integer column from bit `shift` on; NULL where they are 0.
bool analyse_bits(struct analyse_table *t, const struct analyse_column *c, int shift, int width, const char *name,
                  struct analyse_error *err);
// Move the columns of `from` to `t`, which has as many rows; columns of a name that `t` has stay behind.
bool analyse_table_adopt(struct analyse_table *t, struct analyse_table *from, struct analyse_error *err);
// A new column, NULL outside `in`: the greatest of `initial` and the values of the rows before, in the order of `in`.
bool analyse_running(struct analyse_table *t, const struct analyse_rows *in, const struct analyse_column *c, int64_t initial,
                     const char *name, struct analyse_error *err);
// A new column, NULL outside `in` and for its first row: the value of the row before in the order of `in`.
bool analyse_shift(struct analyse_table *t, const struct analyse_rows *in, const struct analyse_column *c, const char *name,
                   struct analyse_error *err);
// A new column, NULL outside `in`: the value less the value of the row before in the order of `in`, within each group of
// `key` (may be NULL); NULL for a group's first. Of text: 0 where it is the same as before, another number where not.
bool analyse_step(struct analyse_table *t, const struct analyse_rows *in, const struct analyse_column *c,
                  const struct analyse_column *key, const char *name, struct analyse_error *err);

#endif
