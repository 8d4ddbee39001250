// SPDX-License-Identifier: MIT
#include "trace/sqlfn_scalar.h"

#include <math.h>
#include <regex.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "trace/operands.h"

// The text of an argument; NULL for SQL's NULL.
static const char *text_of(sqlite3_value *v, int *size) {
    const char *text = (const char *)sqlite3_value_text(v);
    *size = sqlite3_value_bytes(v);
    return text;
}

static void give_part(sqlite3_context *c, const char *text, size_t size) {
    sqlite3_result_text64(c, text, size, SQLITE_TRANSIENT, SQLITE_UTF8);
}

// The greatest (least) argument that is not NULL, numbers before text.
static void extreme(sqlite3_context *c, int argc, sqlite3_value **argv) {
    bool greatest = sqlite3_user_data(c) != NULL;
    sqlite3_value *best = NULL;
    for (int i = 0; i < argc; i++) {
        int type = sqlite3_value_type(argv[i]);
        if (type == SQLITE_NULL) continue;
        if (!best) {
            best = argv[i];
            continue;
        }
        int other = sqlite3_value_type(best), order;
        bool text = type == SQLITE_TEXT || type == SQLITE_BLOB, best_text = other == SQLITE_TEXT || other == SQLITE_BLOB;
        if (text != best_text) order = text ? 1 : -1;
        else if (text) {
            int n, m;
            const char *a = text_of(argv[i], &n), *b = text_of(best, &m);
            order = memcmp(a ? a : "", b ? b : "", (size_t)(n < m ? n : m));
            if (!order) order = (n > m) - (n < m);
        } else if (type == SQLITE_INTEGER && other == SQLITE_INTEGER) {
            int64_t a = sqlite3_value_int64(argv[i]), b = sqlite3_value_int64(best);
            order = (a > b) - (a < b);
        } else {
            double a = sqlite3_value_double(argv[i]), b = sqlite3_value_double(best);
            order = (a > b) - (a < b);
        }
        if (greatest ? order > 0 : order < 0) best = argv[i];
    }
    if (best) sqlite3_result_value(c, best);
}

// match(pattern, text) is what X MATCH Y calls: here DuckDB's ILIKE. % any run, _ any character; ASCII case is ignored.
static bool like(const unsigned char *p, const unsigned char *s) {
    const unsigned char *star = NULL, *again = NULL;
    while (*s) {
        if (*p == '%') {
            star = ++p, again = s;
            continue;
        }
        unsigned char a = *p, b = *s;
        if (a >= 'A' && a <= 'Z') a += 32;
        if (b >= 'A' && b <= 'Z') b += 32;
        if (*p && (a == b || a == '_')) {
            p++, s++;
            if (a == '_')
                while ((*s & 0xC0) == 0x80) s++;
        } else if (star) p = star, s = ++again;
        else return false;
    }
    while (*p == '%') p++;
    return !*p;
}

static void ilike(sqlite3_context *c, int argc, sqlite3_value **argv) {
    (void)argc;
    const unsigned char *p = sqlite3_value_text(argv[0]), *s = sqlite3_value_text(argv[1]);
    if (p && s) sqlite3_result_int(c, like(p, s));
}

enum search { S_STARTS, S_ENDS, S_CONTAINS, S_POSITION };

static void search(sqlite3_context *c, int argc, sqlite3_value **argv) {
    (void)argc;
    int n, m;
    const char *text = text_of(argv[0], &n), *part = text_of(argv[1], &m);
    if (!text || !part) return;
    switch ((enum search)(intptr_t)sqlite3_user_data(c)) {
    case S_STARTS: sqlite3_result_int(c, n >= m && memcmp(text, part, (size_t)m) == 0); return;
    case S_ENDS: sqlite3_result_int(c, n >= m && memcmp(text + n - m, part, (size_t)m) == 0); return;
    default: break;
    }
    const char *at = memmem(text, (size_t)n, part, (size_t)m);
    if ((enum search)(intptr_t)sqlite3_user_data(c) == S_CONTAINS) {
        sqlite3_result_int(c, at != NULL);
        return;
    }
    int64_t position = at ? 1 : 0; // in characters
    for (const char *p = text; at && p < at; p++) position += ((unsigned char)*p & 0xC0) != 0x80;
    sqlite3_result_int64(c, position);
}

// split_part('a/b/c', '/', 2) = 'b'; a negative place counts from the end; '' where there is no such part.
static void split_part(sqlite3_context *c, int argc, sqlite3_value **argv) {
    (void)argc;
    int n, m;
    const char *text = text_of(argv[0], &n), *by = text_of(argv[1], &m);
    if (!text || !by) return;
    int64_t want = sqlite3_value_int64(argv[2]), parts = 1;
    if (m == 0) {
        give_part(c, text, want == 1 || want == -1 ? (size_t)n : 0);
        return;
    }
    const char *end = text + n;
    for (const char *p = text; (p = memmem(p, (size_t)(end - p), by, (size_t)m)); p += m) parts++;
    if (want < 0) want += parts + 1;
    const char *from = text;
    for (int64_t i = 1; from && i < want; i++) {
        const char *next = memmem(from, (size_t)(end - from), by, (size_t)m);
        from = next ? next + m : NULL;
    }
    if (!from || want < 1) {
        give_part(c, "", 0);
        return;
    }
    const char *stop = memmem(from, (size_t)(end - from), by, (size_t)m);
    give_part(c, from, (size_t)((stop ? stop : end) - from));
}

static void parse_filename(sqlite3_context *c, int argc, sqlite3_value **argv) {
    (void)argc;
    int n;
    const char *text = text_of(argv[0], &n), *slash = text ? memrchr(text, '/', (size_t)n) : NULL;
    if (text) give_part(c, slash ? slash + 1 : text, (size_t)(slash ? text + n - slash - 1 : n));
}

static void concat(sqlite3_context *c, int argc, sqlite3_value **argv) {
    sqlite3_str *s = sqlite3_str_new(sqlite3_context_db_handle(c));
    bool separated = sqlite3_user_data(c) != NULL, any = false;
    int n, m = 0;
    const char *by = separated ? text_of(argv[0], &m) : NULL;
    for (int i = separated; i < argc; i++) {
        const char *text = text_of(argv[i], &n);
        if (!text) continue;
        if (any && by) sqlite3_str_append(s, by, m);
        sqlite3_str_append(s, text, n);
        any = true;
    }
    int size = sqlite3_str_length(s), bad = sqlite3_str_errcode(s);
    char *text = sqlite3_str_finish(s);
    if (bad) {
        sqlite3_free(text);
        if (bad == SQLITE_TOOBIG) sqlite3_result_error_toobig(c);
        else sqlite3_result_error_nomem(c);
    } else if (text) sqlite3_result_text(c, text, size, sqlite3_free);
    else sqlite3_result_text(c, "", 0, SQLITE_STATIC);
}

// left(text, n), right(text, n) in characters; a negative n leaves out that many at the other end.
static void side(sqlite3_context *c, int argc, sqlite3_value **argv) {
    (void)argc;
    int n;
    const char *text = text_of(argv[0], &n);
    if (!text || sqlite3_value_type(argv[1]) == SQLITE_NULL) return;
    int64_t characters = 0, want = sqlite3_value_int64(argv[1]), seen = 0;
    for (int i = 0; i < n; i++) characters += ((unsigned char)text[i] & 0xC0) != 0x80;
    if (want < 0) want = want < -characters ? 0 : characters + want;
    if (want > characters) want = characters;
    bool right = sqlite3_user_data(c) != NULL;
    int64_t cut = right ? characters - want : want;
    int at = 0;
    while (at < n && (seen < cut || ((unsigned char)text[at] & 0xC0) == 0x80)) {
        seen += ((unsigned char)text[at] & 0xC0) != 0x80;
        if (seen > cut) break;
        at++;
    }
    if (right) give_part(c, text + at, (size_t)(n - at));
    else give_part(c, text, (size_t)at);
}

// Patterns: POSIX extended, with the classes \d \w \s and their opposites that people write.
static bool compile_pattern(sqlite3_context *c, sqlite3_value *v, regex_t *out) {
    int n;
    const char *p = text_of(v, &n);
    if (!p || n > 1000) {
        if (p) sqlite3_result_error(c, "the pattern is longer than 1000 bytes", -1);
        return false;
    }
    char buffer[13002];
    size_t used = 0;
    bool in_set = false;
    for (int i = 0; i < n; i++) {
        const char *class = NULL;
        if (p[i] == '\\' && i + 1 < n) {
            switch (p[++i]) {
            case 'd': class = in_set ? "0-9" : "[0-9]"; break;
            case 'w': class = in_set ? "A-Za-z0-9_" : "[A-Za-z0-9_]"; break;
            case 's': class = in_set ? " \t\n\r" : "[ \t\n\r]"; break;
            case 'D': class = "[^0-9]"; break;
            case 'W': class = "[^A-Za-z0-9_]"; break;
            case 'S': class = "[^ \t\n\r]"; break;
            default: break;
            }
            if (class) {
                size_t size = strlen(class);
                memcpy(buffer + used, class, size);
                used += size;
                continue;
            }
            if (!in_set) buffer[used++] = '\\';
            buffer[used++] = p[i];
            continue;
        }
        if (p[i] == '(' && i + 2 < n && p[i + 1] == '?' && p[i + 2] == ':' && !in_set) {
            sqlite3_result_error(c, "patterns have no (?: ) here: use plain groups", -1);
            return false;
        }
        if (p[i] == '[') in_set = true;
        else if (p[i] == ']') in_set = false;
        buffer[used++] = p[i];
    }
    buffer[used] = 0;
    int bad = regcomp(out, buffer, REG_EXTENDED);
    if (!bad) return true;
    char words[160] = "the pattern is wrong: ";
    size_t at = strlen(words);
    regerror(bad, out, words + at, sizeof words - at);
    sqlite3_result_error(c, words, -1);
    return false;
}

static void free_pattern(void *p) {
    regfree(p);
    sqlite3_free(p);
}

// regexp_matches(text, pattern) and regexp_extract(text, pattern[, group]); a compiled pattern stays for the statement.
static void pattern(sqlite3_context *c, int argc, sqlite3_value **argv) {
    enum { GROUPS = 10 };
    int n, group = argc > 2 ? sqlite3_value_int(argv[2]) : 0;
    const char *text = text_of(argv[0], &n);
    if (!text || sqlite3_value_type(argv[1]) == SQLITE_NULL) return;
    regex_t *compiled = sqlite3_get_auxdata(c, 1);
    if (!compiled) {
        compiled = sqlite3_malloc(sizeof *compiled);
        if (!compiled) {
            sqlite3_result_error_nomem(c);
            return;
        }
        if (!compile_pattern(c, argv[1], compiled)) {
            sqlite3_free(compiled);
            return;
        }
        sqlite3_set_auxdata(c, 1, compiled, free_pattern);
        compiled = sqlite3_get_auxdata(c, 1);
        if (!compiled) {
            sqlite3_result_error_nomem(c);
            return;
        }
    }
    regmatch_t found[GROUPS];
    bool match = regexec(compiled, text, GROUPS, found, 0) == 0;
    if (sqlite3_user_data(c) == NULL) sqlite3_result_int(c, match);
    else if (!match || group < 0 || group >= GROUPS || found[group].rm_so < 0) give_part(c, "", 0);
    else give_part(c, text + found[group].rm_so, (size_t)(found[group].rm_eo - found[group].rm_so));
}

static void choose(sqlite3_context *c, int argc, sqlite3_value **argv) {
    (void)argc;
    bool yes = sqlite3_value_type(argv[0]) != SQLITE_NULL && sqlite3_value_double(argv[0]) != 0;
    sqlite3_result_value(c, argv[yes ? 1 : 2]);
}

// Mathematics. What has no value (the logarithm of -1) is NULL, as in SQLite.
static void number1(sqlite3_context *c, int argc, sqlite3_value **argv) {
    (void)argc;
    int type = sqlite3_value_numeric_type(argv[0]);
    if (type != SQLITE_INTEGER && type != SQLITE_FLOAT) return;
    double (*fn)(double) = NULL;
    memcpy(&fn, (const char *)sqlite3_user_data(c), sizeof fn);
    double y = fn(sqlite3_value_double(argv[0]));
    if (type == SQLITE_INTEGER && (fn == floor || fn == ceil || fn == trunc)) sqlite3_result_value(c, argv[0]);
    else if (!isnan(y)) sqlite3_result_double(c, y);
}

static void power(sqlite3_context *c, int argc, sqlite3_value **argv) {
    (void)argc;
    for (int i = 0; i < 2; i++) {
        int type = sqlite3_value_numeric_type(argv[i]);
        if (type != SQLITE_INTEGER && type != SQLITE_FLOAT) return;
    }
    double y = pow(sqlite3_value_double(argv[0]), sqlite3_value_double(argv[1]));
    if (!isnan(y)) sqlite3_result_double(c, y);
}

// Operands of matmuls: see operands.h.
static void operand(sqlite3_context *c, int argc, sqlite3_value **argv) {
    (void)argc;
    const char *text = (const char *)sqlite3_value_text(argv[0]);
    struct operands o;
    if (!text || !operands_parse(text, &o)) return;
    const char *which = sqlite3_user_data(c);
    int64_t value = *which == 'k' ? o.k : *which == 'm' ? o.m : o.n;
    if (*which == 't') {
        const int64_t most = (1 << 20) - 1;
        sqlite3_result_int64(c, (o.k < most ? o.k : most) << 40 | (o.m < most ? o.m : most) << 20 | (o.n < most ? o.n : most));
        return;
    }
    if (*which == 'd') {
        if (o.dtype[0]) sqlite3_result_text(c, o.dtype, -1, SQLITE_TRANSIENT);
    } else if (value > 0) sqlite3_result_int64(c, value);
}

static int register_operands(sqlite3 *db) {
    static const struct {
        const char *name, *which;
    } list[] = {{"matmul_k", "k"}, {"matmul_m", "m"}, {"matmul_n", "n"}, {"matmul_dtype", "d"}, {"matmul_tile", "t"}};
    int result = SQLITE_OK;
    for (size_t i = 0; i < sizeof list / sizeof *list && result == SQLITE_OK; i++)
        result = sqlite3_create_function_v2(db, list[i].name, 1, SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS,
                                            (void *)list[i].which, operand, NULL, NULL, NULL);
    return result;
}

int sqlfn_register_scalars(sqlite3 *db) {
    static const struct {
        const char *name;
        int arguments;
        void (*function)(sqlite3_context *, int, sqlite3_value **);
        intptr_t user;
    } list[] = {
        {"greatest", -1, extreme, 1},       {"least", -1, extreme, 0},           {"match", 2, ilike, 0},
        {"starts_with", 2, search, S_STARTS}, {"prefix", 2, search, S_STARTS},   {"ends_with", 2, search, S_ENDS},
        {"suffix", 2, search, S_ENDS},      {"contains", 2, search, S_CONTAINS}, {"strpos", 2, search, S_POSITION},
        {"split_part", 3, split_part, 0},   {"parse_filename", 1, parse_filename, 0}, {"concat", -1, concat, 0},
        {"concat_ws", -1, concat, 1},       {"left", 2, side, 0},                {"right", 2, side, 1},
        {"regexp_matches", 2, pattern, 0},  {"regexp_extract", 2, pattern, 1},   {"regexp_extract", 3, pattern, 1},
        {"if", 3, choose, 0},               {"pow", 2, power, 0},                {"power", 2, power, 0},
    };
    static double (*const floor_)(double) = floor, (*const ceil_)(double) = ceil, (*const trunc_)(double) = trunc,
                             (*const sqrt_)(double) = sqrt, (*const exp_)(double) = exp, (*const ln_)(double) = log,
                             (*const log10_)(double) = log10, (*const log2_)(double) = log2;
    static const struct {
        const char *name;
        double (*const *function)(double);
    } numbers[] = {
        {"floor", &floor_}, {"ceil", &ceil_}, {"ceiling", &ceil_}, {"trunc", &trunc_}, {"sqrt", &sqrt_},
        {"exp", &exp_},     {"ln", &ln_},     {"log", &log10_},    {"log10", &log10_}, {"log2", &log2_},
    };
    const int flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS;
    int result = SQLITE_OK;
    for (size_t i = 0; i < sizeof list / sizeof *list && result == SQLITE_OK; i++)
        result = sqlite3_create_function_v2(db, list[i].name, list[i].arguments, flags, (void *)list[i].user,
                                            list[i].function, NULL, NULL, NULL);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers && result == SQLITE_OK; i++)
        result = sqlite3_create_function_v2(db, numbers[i].name, 1, flags, (void *)(uintptr_t)numbers[i].function, number1,
                                            NULL, NULL, NULL);
    return result == SQLITE_OK ? register_operands(db) : result;
}
