// SPDX-License-Identifier: MIT
#include "trace/sqlfn.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "trace/sqlfn_scalar.h"

// One value that outlives its row. Text is a copy of SQLite's allocator.
struct value {
    enum { V_NULL, V_INT, V_REAL, V_TEXT } type;
    int size; // bytes of text
    union {
        int64_t i;
        double f;
        char *text;
    };
};

static void value_free(struct value *v) {
    if (v->type == V_TEXT) sqlite3_free(v->text);
    v->type = V_NULL;
}

static bool value_set(struct value *v, sqlite3_value *from) {
    value_free(v);
    switch (sqlite3_value_type(from)) {
    case SQLITE_NULL: return true;
    case SQLITE_INTEGER:
        v->type = V_INT;
        v->i = sqlite3_value_int64(from);
        return true;
    case SQLITE_FLOAT:
        v->type = V_REAL;
        v->f = sqlite3_value_double(from);
        return true;
    default: {
        const unsigned char *text = sqlite3_value_text(from);
        int size = sqlite3_value_bytes(from);
        char *copy = text ? sqlite3_malloc64((sqlite3_uint64)size + 1) : NULL;
        if (!copy) return false;
        memcpy(copy, text, (size_t)size);
        copy[size] = 0;
        v->type = V_TEXT;
        v->size = size;
        v->text = copy;
        return true;
    }
    }
}

static void value_result(sqlite3_context *c, const struct value *v) {
    switch (v->type) {
    case V_NULL: sqlite3_result_null(c); break;
    case V_INT: sqlite3_result_int64(c, v->i); break;
    case V_REAL: sqlite3_result_double(c, v->f); break;
    case V_TEXT: sqlite3_result_text(c, v->text, v->size, SQLITE_TRANSIENT); break;
    }
}

static double value_number(const struct value *v) {
    return v->type == V_INT ? (double)v->i : v->type == V_REAL ? v->f : 0;
}

// Numbers before text, as SQLite orders them. Integers are compared as integers.
static int value_compare(const void *left, const void *right) {
    const struct value *a = left, *b = right;
    if (a->type == V_INT && b->type == V_INT) return (a->i > b->i) - (a->i < b->i);
    if (a->type == V_TEXT || b->type == V_TEXT) {
        if (a->type != b->type) return a->type == V_TEXT ? 1 : -1;
        int n = memcmp(a->text, b->text, (size_t)(a->size < b->size ? a->size : b->size));
        return n ? n : (a->size > b->size) - (a->size < b->size);
    }
    double x = value_number(a), y = value_number(b);
    return (x > y) - (x < y);
}

// Buffered aggregates ---------------------------------------------------------------------------------------------------

enum kind { K_MEDIAN, K_DISC, K_CONT, K_MODE, K_LIST, K_JOIN, K_DISTINCT };

// The values of a group in the order they came; a moving frame drops them at the front (`head`).
struct buffer {
    struct value *values;
    int64_t head, count, room;
    double fraction;
    char *separator;
    bool have_fraction;
};

static enum kind kind_of(sqlite3_context *c) { return (enum kind)(intptr_t)sqlite3_user_data(c); }

static bool buffer_room(struct buffer *b) {
    if (b->count < b->room) return true;
    if (b->head > b->count / 2) {
        memmove(b->values, b->values + b->head, (size_t)(b->count - b->head) * sizeof *b->values);
        b->count -= b->head;
        b->head = 0;
        return true;
    }
    int64_t room = b->room ? b->room * 2 : 8;
    struct value *grown = sqlite3_realloc64(b->values, (sqlite3_uint64)room * sizeof *grown);
    if (!grown) return false;
    b->values = grown;
    b->room = room;
    return true;
}

static void buffer_step(sqlite3_context *c, int argc, sqlite3_value **argv) {
    struct buffer *b = sqlite3_aggregate_context(c, sizeof *b);
    if (!b) {
        sqlite3_result_error_nomem(c);
        return;
    }
    enum kind kind = kind_of(c);
    if ((kind == K_DISC || kind == K_CONT) && argc == 2 && !b->have_fraction) {
        int type = sqlite3_value_numeric_type(argv[1]);
        b->fraction = sqlite3_value_double(argv[1]);
        if ((type != SQLITE_INTEGER && type != SQLITE_FLOAT) || !(b->fraction >= 0 && b->fraction <= 1)) {
            sqlite3_result_error(c, "quantile(x, q): q must be one number from 0 to 1", -1);
            return;
        }
        b->have_fraction = true;
    }
    if (kind == K_JOIN && argc == 2 && !b->separator) {
        const char *text = (const char *)sqlite3_value_text(argv[1]);
        b->separator = sqlite3_mprintf("%s", text ? text : "");
    }
    if (sqlite3_value_type(argv[0]) == SQLITE_NULL && kind != K_LIST) return;
    if (!buffer_room(b)) {
        sqlite3_result_error_nomem(c);
        return;
    }
    struct value *v = b->values + b->count;
    v->type = V_NULL;
    if (!value_set(v, argv[0])) sqlite3_result_error_nomem(c);
    else b->count++;
}

static void buffer_inverse(sqlite3_context *c, int argc, sqlite3_value **argv) {
    (void)argc;
    struct buffer *b = sqlite3_aggregate_context(c, sizeof *b);
    if (!b || (sqlite3_value_type(argv[0]) == SQLITE_NULL && kind_of(c) != K_LIST) || b->head >= b->count) return;
    value_free(b->values + b->head++); // a frame loses its oldest row first
}

static void give_quantile(sqlite3_context *c, const struct value *v, int64_t n, double q, bool interpolate) {
    if (!interpolate || v[0].type == V_TEXT || v[n - 1].type == V_TEXT) {
        double floored = floor((double)n - q * (double)n); // as DuckDB: ceil(q n) - 1, without rounding twice
        int64_t at = n - (int64_t)floored;
        value_result(c, v + (at > 1 ? at - 1 : 0));
        return;
    }
    double place = q * (double)(n - 1);
    int64_t low = (int64_t)floor(place), high = (int64_t)ceil(place);
    double a = value_number(v + low), b = value_number(v + high);
    sqlite3_result_double(c, a + (b - a) * (place - (double)low));
}

static void give_mode(sqlite3_context *c, const struct value *values, const struct value *sorted, int64_t n) {
    int64_t most = 0, ties = 0;
    const struct value *best = NULL;
    for (int64_t i = 0, j; i < n; i = j) {
        for (j = i + 1; j < n && value_compare(sorted + i, sorted + j) == 0; j++) {}
        if (j - i > most) most = j - i, best = sorted + i, ties = 1;
        else if (j - i == most) ties++;
    }
    // Of several equally frequent values the one that came first.
    for (int64_t k = 0; ties > 1 && k < n; k++) {
        const struct value *at = bsearch(values + k, sorted, (size_t)n, sizeof *sorted, value_compare);
        int64_t low = at - sorted, high = low;
        while (low > 0 && value_compare(sorted + low - 1, at) == 0) low--;
        while (high < n && value_compare(sorted + high, at) == 0) high++;
        if (high - low == most) {
            best = at;
            break;
        }
    }
    value_result(c, best);
}

static void give_list(sqlite3_context *c, const struct buffer *b, bool json) {
    sqlite3_str *s = sqlite3_str_new(sqlite3_context_db_handle(c));
    if (json) sqlite3_str_appendchar(s, 1, '[');
    for (int64_t i = b->head; i < b->count; i++) {
        const struct value *v = b->values + i;
        if (i > b->head) sqlite3_str_appendall(s, json ? "," : b->separator ? b->separator : ",");
        if (v->type == V_NULL) sqlite3_str_appendall(s, "null");
        else if (v->type == V_INT) sqlite3_str_appendf(s, "%lld", (long long)v->i);
        else if (v->type == V_REAL) sqlite3_str_appendf(s, isfinite(v->f) || !json ? "%!.17g" : "null", v->f);
        else if (!json) sqlite3_str_append(s, v->text, v->size);
        else {
            sqlite3_str_appendchar(s, 1, '"');
            for (int k = 0; k < v->size; k++) {
                unsigned char ch = (unsigned char)v->text[k];
                if (ch == '"' || ch == '\\') sqlite3_str_appendf(s, "\\%c", ch);
                else if (ch < 32) sqlite3_str_appendf(s, "\\u%04x", ch);
                else sqlite3_str_appendchar(s, 1, (char)ch);
            }
            sqlite3_str_appendchar(s, 1, '"');
        }
    }
    if (json) sqlite3_str_appendchar(s, 1, ']');
    int size = sqlite3_str_length(s), bad = sqlite3_str_errcode(s);
    char *text = sqlite3_str_finish(s);
    if (bad == SQLITE_TOOBIG) sqlite3_result_error_toobig(c);
    else if (bad) sqlite3_result_error_nomem(c);
    else if (text) sqlite3_result_text(c, text, size, sqlite3_free);
    else sqlite3_result_text(c, "", 0, SQLITE_STATIC);
    if (bad) sqlite3_free(text);
}

static void buffer_value(sqlite3_context *c) {
    struct buffer *b = sqlite3_aggregate_context(c, 0);
    int64_t n = b ? b->count - b->head : 0;
    enum kind kind = kind_of(c);
    if (n == 0) {
        if (kind == K_DISTINCT) sqlite3_result_int(c, 0);
        else sqlite3_result_null(c);
        return;
    }
    if (kind == K_LIST || kind == K_JOIN) {
        give_list(c, b, kind == K_LIST);
        return;
    }
    struct value *sorted = sqlite3_malloc64((sqlite3_uint64)n * sizeof *sorted);
    if (!sorted) {
        sqlite3_result_error_nomem(c);
        return;
    }
    memcpy(sorted, b->values + b->head, (size_t)n * sizeof *sorted);
    qsort(sorted, (size_t)n, sizeof *sorted, value_compare);
    if (kind == K_MODE) give_mode(c, b->values + b->head, sorted, n);
    else if (kind == K_DISTINCT) {
        int64_t distinct = 1;
        for (int64_t i = 1; i < n; i++) distinct += value_compare(sorted + i - 1, sorted + i) != 0;
        sqlite3_result_int64(c, distinct);
    } else give_quantile(c, sorted, n, kind == K_MEDIAN ? 0.5 : b->fraction, kind != K_DISC);
    sqlite3_free(sorted);
}

static void buffer_final(sqlite3_context *c) {
    buffer_value(c);
    struct buffer *b = sqlite3_aggregate_context(c, 0);
    if (!b) return;
    for (int64_t i = b->head; i < b->count; i++) value_free(b->values + i);
    sqlite3_free(b->values);
    sqlite3_free(b->separator);
    *b = (struct buffer){0};
}

// Running aggregates ------------------------------------------------------------------------------------------------------

enum running { R_ANY, R_FIRST, R_LAST, R_ARG_MAX, R_ARG_MIN, R_AND, R_OR, R_PRODUCT, R_STD, R_STD_POP, R_VAR, R_VAR_POP, R_COUNT };

struct state {
    struct value kept, by;
    int64_t rows;
    double mean, square; // Welford
    double product;
    bool truth;
};

static void running_step(sqlite3_context *c, int argc, sqlite3_value **argv) {
    (void)argc;
    struct state *s = sqlite3_aggregate_context(c, sizeof *s);
    if (!s) {
        sqlite3_result_error_nomem(c);
        return;
    }
    enum running kind = (enum running)(intptr_t)sqlite3_user_data(c);
    bool null = sqlite3_value_type(argv[0]) == SQLITE_NULL, kept = true;
    switch (kind) {
    case R_ANY:
        if (!null && s->kept.type == V_NULL) kept = value_set(&s->kept, argv[0]);
        return kept ? (void)0 : sqlite3_result_error_nomem(c);
    case R_FIRST:
        if (s->rows++ == 0) kept = value_set(&s->kept, argv[0]);
        return kept ? (void)0 : sqlite3_result_error_nomem(c);
    case R_LAST: return value_set(&s->kept, argv[0]) ? (void)0 : sqlite3_result_error_nomem(c);
    case R_ARG_MAX:
    case R_ARG_MIN: {
        if (null || sqlite3_value_type(argv[1]) == SQLITE_NULL) return;
        struct value by = {0};
        if (!value_set(&by, argv[1])) {
            sqlite3_result_error_nomem(c);
            return;
        }
        int order = s->rows == 0 ? 0 : value_compare(&by, &s->by);
        if (s->rows++ == 0 || (kind == R_ARG_MAX ? order > 0 : order < 0)) {
            value_free(&s->by);
            s->by = by;
            if (!value_set(&s->kept, argv[0])) sqlite3_result_error_nomem(c);
        } else value_free(&by);
        return;
    }
    default: break;
    }
    if (null) return;
    double x = sqlite3_value_double(argv[0]);
    if (s->rows++ == 0) s->product = 1, s->truth = kind == R_AND;
    if (kind == R_PRODUCT) s->product *= x;
    else if (kind == R_AND) s->truth = s->truth && x != 0;
    else if (kind == R_OR) s->truth = s->truth || x != 0;
    else if (kind == R_COUNT) s->rows -= x == 0;
    else {
        double d = x - s->mean;
        s->mean += d / (double)s->rows;
        s->square += d * (x - s->mean);
    }
}

static void count_inverse(sqlite3_context *c, int argc, sqlite3_value **argv) {
    (void)argc;
    struct state *s = sqlite3_aggregate_context(c, sizeof *s);
    if (s && sqlite3_value_type(argv[0]) != SQLITE_NULL && sqlite3_value_double(argv[0]) != 0) s->rows--;
}

static void running_inverse(sqlite3_context *c, int argc, sqlite3_value **argv) {
    (void)argc, (void)argv;
    sqlite3_result_error(c, "this aggregate has no frame that moves: use a whole partition, or a frame from its start", -1);
}

static void running_value(sqlite3_context *c) {
    struct state *s = sqlite3_aggregate_context(c, 0);
    enum running kind = (enum running)(intptr_t)sqlite3_user_data(c);
    if (kind == R_COUNT) {
        sqlite3_result_int64(c, s ? s->rows : 0);
        return;
    }
    if (!s) return; // NULL
    if (kind <= R_ARG_MIN) {
        value_result(c, &s->kept);
        return;
    }
    bool sample = kind == R_STD || kind == R_VAR;
    if (s->rows < (sample ? 2 : 1)) return;
    if (kind == R_AND || kind == R_OR) sqlite3_result_int(c, s->truth);
    else if (kind == R_PRODUCT) sqlite3_result_double(c, s->product);
    else {
        double variance = s->square / (double)(sample ? s->rows - 1 : s->rows);
        sqlite3_result_double(c, kind == R_STD || kind == R_STD_POP ? sqrt(variance) : variance);
    }
}

static void running_final(sqlite3_context *c) {
    running_value(c);
    struct state *s = sqlite3_aggregate_context(c, 0);
    if (!s) return;
    value_free(&s->kept);
    value_free(&s->by);
}

int sqlfn_register(sqlite3 *db) {
    static const struct {
        const char *name;
        int arguments, kind;
    } buffered[] = {
        {"median", 1, K_MEDIAN},       {"quantile", 2, K_DISC},     {"quantile_disc", 2, K_DISC}, {"quantile_cont", 2, K_CONT},
        {"approx_quantile", 2, K_CONT}, {"mode", 1, K_MODE},         {"list", 1, K_LIST},          {"array_agg", 1, K_LIST},
        {"string_agg", 1, K_JOIN},     {"string_agg", 2, K_JOIN},   {"approx_count_distinct", 1, K_DISTINCT},
    };
    static const struct {
        const char *name;
        int arguments, kind;
    } running[] = {
        {"any_value", 1, R_ANY},    {"first", 1, R_FIRST},      {"last", 1, R_LAST},         {"arg_max", 2, R_ARG_MAX},
        {"max_by", 2, R_ARG_MAX},   {"arg_min", 2, R_ARG_MIN},  {"min_by", 2, R_ARG_MIN},    {"bool_and", 1, R_AND},
        {"bool_or", 1, R_OR},       {"product", 1, R_PRODUCT},  {"stddev", 1, R_STD},        {"stddev_samp", 1, R_STD},
        {"stddev_pop", 1, R_STD_POP}, {"variance", 1, R_VAR},   {"var_samp", 1, R_VAR},      {"var_pop", 1, R_VAR_POP},
        {"count_if", 1, R_COUNT},   {"countif", 1, R_COUNT},
    };
    const int flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS;
    int result = SQLITE_OK;
    for (size_t i = 0; i < sizeof buffered / sizeof *buffered && result == SQLITE_OK; i++)
        result = sqlite3_create_window_function(db, buffered[i].name, buffered[i].arguments, flags,
                                                (void *)(intptr_t)buffered[i].kind, buffer_step, buffer_final, buffer_value,
                                                buffer_inverse, NULL);
    for (size_t i = 0; i < sizeof running / sizeof *running && result == SQLITE_OK; i++)
        result = sqlite3_create_window_function(db, running[i].name, running[i].arguments, flags,
                                                (void *)(intptr_t)running[i].kind, running_step, running_final, running_value,
                                                running[i].kind == R_COUNT ? count_inverse : running_inverse, NULL);
    return result == SQLITE_OK ? sqlfn_register_scalars(db) : result;
}
