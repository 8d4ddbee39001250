// SPDX-License-Identifier: MIT
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/analyse.h"

bool analyse_fail(struct analyse_error *err, const char *format, ...) {
    va_list list;
    va_start(list, format);
    vsnprintf(err->message, sizeof err->message, format, list);
    va_end(list);
    return false;
}

void *analyse_take(struct account *account, size_t bytes, struct analyse_error *err) {
    bool refused = false;
    void *memory = account_take(account, bytes ? bytes : 1, &refused);
    if (memory) return memory;
    if (refused) analyse_fail(err, "the analysis needs more memory than its limit (%zu MiB)", account->limit >> 20);
    else analyse_fail(err, "no memory for %zu bytes", bytes);
    return NULL;
}

void analyse_give(struct account *account, void *memory, size_t bytes) { account_give(account, memory, bytes ? bytes : 1); }

// Another block of `bytes` with the content of the old one, which is given back; the old one stays when this fails.
static void *regrow(struct account *account, void *memory, size_t old, size_t bytes, struct analyse_error *err) {
    void *grown = analyse_take(account, bytes, err);
    if (!grown) return NULL;
    if (memory) {
        memcpy(grown, memory, old < bytes ? old : bytes);
        analyse_give(account, memory, old);
    }
    return grown;
}

// Dictionaries ----------------------------------------------------------------------------------------------------------

struct analyse_dictionary *analyse_dictionary_new(struct account *account) {
    struct analyse_dictionary *d = calloc(1, sizeof *d);
    if (!d) return NULL;
    d->references = 1;
    d->account = account;
    return d;
}

void analyse_dictionary_drop(struct analyse_dictionary *d) {
    if (!d || --d->references > 0) return;
    for (int32_t i = 0; i < d->count; i++) free(d->words[i].text);
    free(d->words);
    free(d->slots);
    if (d->account) account_discharge(d->account, d->bytes);
    free(d);
}

static uint32_t hash_text(const char *text, uint32_t size) {
    uint64_t h = 0x9E3779B97F4A7C15u ^ size;
    for (; size >= 8; text += 8, size -= 8) {
        uint64_t word;
        memcpy(&word, text, 8);
        h = (h ^ word) * 0xFF51AFD7ED558CCDu;
        h ^= h >> 32;
    }
    uint64_t tail = 0;
    memcpy(&tail, text, size);
    h = (h ^ tail) * 0xFF51AFD7ED558CCDu;
    return (uint32_t)(h ^ h >> 32);
}

// The slot where the text is, or the free one where it belongs.
static uint32_t slot_of(const struct analyse_dictionary *d, const char *text, uint32_t size, uint32_t hash) {
    uint32_t mask = d->slot_count - 1, at = hash & mask;
    for (;; at = (at + 1) & mask) {
        int32_t code = d->slots[at];
        if (code < 0) return at;
        const struct analyse_word *w = d->words + code;
        if (w->hash == hash && w->size == size && memcmp(w->text, text, size) == 0) return at;
    }
}

static bool more_slots(struct analyse_dictionary *d) {
    uint32_t count = d->slot_count ? d->slot_count * 2 : 64;
    size_t more = (count - d->slot_count) * sizeof *d->slots;
    if (d->account && !account_charge(d->account, more)) return false;
    int32_t *slots = malloc(count * sizeof *slots), *old = d->slots;
    if (!slots) {
        if (d->account) account_discharge(d->account, more);
        return false;
    }
    memset(slots, 0xFF, count * sizeof *slots);
    d->slots = slots;
    d->slot_count = count;
    for (int32_t i = 0; i < d->count; i++)
        d->slots[slot_of(d, d->words[i].text, d->words[i].size, d->words[i].hash)] = i;
    free(old);
    d->bytes += more;
    return true;
}

int32_t analyse_word_find(const struct analyse_dictionary *d, const char *text, uint32_t size) {
    if (!d->count) return -1;
    return d->slots[slot_of(d, text, size, hash_text(text, size))];
}

int32_t analyse_word_add(struct analyse_dictionary *d, const char *text, uint32_t size) {
    if ((uint32_t)d->count * 2 >= d->slot_count && !more_slots(d)) return -1;
    uint32_t hash = hash_text(text, size), at = slot_of(d, text, size, hash);
    if (d->slots[at] >= 0) return d->slots[at];
    if (d->count == d->room) {
        int32_t room = d->room ? d->room * 2 : 16;
        struct analyse_word *words = realloc(d->words, (size_t)room * sizeof *words);
        if (!words) return -1;
        d->words = words;
        d->room = room;
    }
    size_t bytes = size + 1u + sizeof *d->words;
    if (d->account && !account_charge(d->account, bytes)) return -1;
    char *copy = malloc(size + 1u);
    if (!copy) {
        if (d->account) account_discharge(d->account, bytes);
        return -1;
    }
    memcpy(copy, text, size);
    copy[size] = 0;
    d->words[d->count] = (struct analyse_word){copy, size, hash};
    d->slots[at] = d->count;
    d->bytes += bytes;
    return d->count++;
}

// Tables and columns --------------------------------------------------------------------------------------------------------

static size_t width(enum analyse_type type) { return type == ANALYSE_I32 || type == ANALYSE_TEXT ? 4 : 8; }

bool analyse_table_init(struct analyse_table *t, struct account *account, struct analyse_error *err) {
    *t = (struct analyse_table){.account = account};
    t->columns = calloc(ANALYSE_MAX_COLUMNS, sizeof *t->columns);
    return t->columns ? true : analyse_fail(err, "no memory for a table");
}

void analyse_column_drop(struct analyse_table *t, struct analyse_column *c) {
    size_t bytes = c->data ? (size_t)c->room * width(c->type) : 0;
    if (c->valid) bytes += ((size_t)c->room + 63) / 64 * 8;
    if (c->data) analyse_give(t->account, c->data, (size_t)c->room * width(c->type));
    if (c->valid) analyse_give(t->account, c->valid, ((size_t)c->room + 63) / 64 * 8);
    analyse_dictionary_drop(c->dictionary);
    t->bytes -= bytes;
    *c = (struct analyse_column){0};
}

void analyse_table_close(struct analyse_table *t) {
    if (!t->columns) return;
    for (int i = 0; i < t->count; i++) analyse_column_drop(t, t->columns + i);
    free(t->columns);
    *t = (struct analyse_table){0};
}

struct analyse_column *analyse_column_find(const struct analyse_table *t, const char *name) {
    for (int i = 0; i < t->count; i++)
        if (strcmp(t->columns[i].name, name) == 0) return t->columns + i;
    return NULL;
}

static bool charge(struct analyse_table *t, size_t before, size_t after) {
    t->bytes += after - before;
    return true;
}

// Room for `room` elements, keeping what is there.
static bool reserve(struct analyse_table *t, struct analyse_column *c, int64_t room, struct analyse_error *err) {
    if (room <= c->room && c->data) return true;
    if (room > ANALYSE_MAX_ROWS) return analyse_fail(err, "more than %d rows", ANALYSE_MAX_ROWS);
    size_t old = c->data ? (size_t)c->room * width(c->type) : 0, bytes = (size_t)room * width(c->type);
    void *data = regrow(t->account, c->data, old, bytes, err);
    if (!data) return false;
    c->data = data;
    charge(t, old, bytes);
    if (c->valid) {
        size_t had = ((size_t)c->room + 63) / 64 * 8, want = ((size_t)room + 63) / 64 * 8;
        uint64_t *valid = regrow(t->account, c->valid, had, want, err);
        if (!valid) {
            // The data has grown, the bits have not: the room stays what both have, the bytes are known.
            c->room = room; // so that dropping the column gives back what data holds
            analyse_give(t->account, c->valid, had);
            c->valid = NULL;
            t->bytes -= had;
            return false;
        }
        memset((char *)valid + had, 0, want - had);
        c->valid = valid;
        charge(t, had, want);
    }
    c->room = room;
    return true;
}

static bool make_nullable(struct analyse_table *t, struct analyse_column *c, int64_t rows, struct analyse_error *err) {
    if (c->valid || c->type == ANALYSE_TEXT) return true;
    size_t bytes = ((size_t)c->room + 63) / 64 * 8;
    c->valid = analyse_take(t->account, bytes, err);
    if (!c->valid) return false;
    memset(c->valid, 0, bytes);
    for (int64_t i = 0; i < rows; i++) c->valid[i >> 6] |= 1ull << (i & 63);
    charge(t, 0, bytes);
    return true;
}

struct analyse_column *analyse_column_add(struct analyse_table *t, const char *name, enum analyse_type type, bool nullable,
                                          struct analyse_error *err) {
    struct analyse_column *c = analyse_column_find(t, name);
    if (c) {
        analyse_fail(err, "there is a column %s already", name);
        return NULL;
    }
    if (t->count == ANALYSE_MAX_COLUMNS) {
        analyse_fail(err, "more than %d columns", ANALYSE_MAX_COLUMNS);
        return NULL;
    }
    c = t->columns + t->count;
    *c = (struct analyse_column){.type = type};
    snprintf(c->name, sizeof c->name, "%s", name);
    t->count++;
    if (!reserve(t, c, t->rows ? t->rows : 1, err) || (nullable && !make_nullable(t, c, 0, err))) {
        analyse_column_drop(t, c);
        t->count--;
        return NULL;
    }
    return c;
}

// Give a column another type, its values of the first `rows` rows kept.
static bool retype(struct analyse_table *t, struct analyse_column *c, enum analyse_type type, int64_t rows,
                   struct analyse_error *err) {
    struct analyse_column made = {.type = type};
    memcpy(made.name, c->name, sizeof made.name);
    if (c->type == ANALYSE_EMPTY) { // nothing but NULL so far
        made.room = c->room;
        size_t bytes = (size_t)c->room * width(type);
        made.data = analyse_take(t->account, bytes, err);
        if (!made.data) return false;
        charge(t, 0, bytes);
        if (type == ANALYSE_TEXT) {
            memset(made.i32, 0xFF, bytes);
            made.dictionary = analyse_dictionary_new(t->account);
        } else memset(made.data, 0, bytes);
        *c = made;
        if (type == ANALYSE_TEXT) return made.dictionary ? true : analyse_fail(err, "no memory for a dictionary");
        return rows == 0 || (make_nullable(t, c, 0, err));
    }
    size_t bytes = (size_t)c->room * width(type), old = (size_t)c->room * width(c->type);
    made.data = analyse_take(t->account, bytes, err);
    if (!made.data) return false;
    charge(t, 0, bytes);
    made.room = c->room;
    bool fine = true;
    if (type == ANALYSE_TEXT) {
        made.dictionary = analyse_dictionary_new(t->account);
        fine = made.dictionary != NULL;
        for (int64_t i = 0; i < rows && fine; i++) {
            char text[40];
            made.i32[i] = -1;
            if (analyse_is_null(c, i)) continue;
            int n = c->type == ANALYSE_F64 ? snprintf(text, sizeof text, "%.17g", c->f64[i])
                                           : snprintf(text, sizeof text, "%lld", (long long)analyse_integer(c, i));
            made.i32[i] = analyse_word_add(made.dictionary, text, (uint32_t)n);
            fine = made.i32[i] >= 0;
        }
        if (!fine) analyse_fail(err, "no memory for the texts of %s", c->name);
        if (c->valid) {
            size_t bits = ((size_t)c->room + 63) / 64 * 8;
            analyse_give(t->account, c->valid, bits);
            charge(t, bits, 0);
        }
    } else {
        made.valid = c->valid;
        for (int64_t i = 0; i < rows; i++) {
            if (type == ANALYSE_I64) made.i64[i] = analyse_integer(c, i);
            else made.f64[i] = analyse_number(c, i);
        }
    }
    analyse_give(t->account, c->data, old);
    charge(t, old, 0);
    *c = made;
    return fine;
}

// Loading ---------------------------------------------------------------------------------------------------------------------

static bool put_text(struct analyse_table *t, struct analyse_column *c, int64_t row, const char *text, int size,
                     struct analyse_error *err) {
    if (!text) return analyse_fail(err, "no memory for a text");
    // Neighbours are often equal: no hashing then.
    if (row > 0 && c->i32[row - 1] >= 0) {
        const struct analyse_word *w = c->dictionary->words + c->i32[row - 1];
        if (w->size == (uint32_t)size && memcmp(w->text, text, (size_t)size) == 0) {
            c->i32[row] = c->i32[row - 1];
            return true;
        }
    }
    (void)t;
    c->i32[row] = analyse_word_add(c->dictionary, text, (uint32_t)size);
    return c->i32[row] >= 0 ? true : analyse_fail(err, "the texts of %s need more memory than allowed", c->name);
}

static bool put_number(struct analyse_table *t, struct analyse_column *c, int64_t row, struct analyse_error *err, bool real,
                       int64_t i, double f) {
    enum analyse_type want = real ? ANALYSE_F64 : i >= INT32_MIN && i <= INT32_MAX ? ANALYSE_I32 : ANALYSE_I64;
    if (c->type < want && !retype(t, c, want, row, err)) return false;
    if (c->type == ANALYSE_I32) c->i32[row] = (int32_t)i;
    else if (c->type == ANALYSE_I64) c->i64[row] = i;
    else c->f64[row] = real ? f : (double)i;
    if (c->valid) c->valid[row >> 6] |= 1ull << (row & 63);
    return true;
}

static bool put_null(struct analyse_table *t, struct analyse_column *c, int64_t row, struct analyse_error *err) {
    if (c->type == ANALYSE_TEXT) c->i32[row] = -1;
    else if (c->type != ANALYSE_EMPTY) {
        if (!make_nullable(t, c, row, err)) return false;
        if (c->type == ANALYSE_I32) c->i32[row] = 0;
        else c->i64[row] = 0;
    }
    return true;
}

// Text in UTF-8 can be read where it lies; as text SQLite would copy it to end it with a NUL.
static bool is_utf8(sqlite3 *db) {
    sqlite3_stmt *s = NULL;
    bool utf8 = sqlite3_prepare_v2(db, "PRAGMA encoding", -1, &s, NULL) == SQLITE_OK && sqlite3_step(s) == SQLITE_ROW &&
                strcmp((const char *)sqlite3_column_text(s, 0), "UTF-8") == 0;
    sqlite3_finalize(s);
    return utf8;
}

static bool put(struct analyse_table *t, struct analyse_column *c, int64_t row, sqlite3_stmt *stmt, int k, bool utf8,
                struct analyse_error *err) {
    switch (sqlite3_column_type(stmt, k)) {
    case SQLITE_INTEGER: {
        int64_t value = sqlite3_column_int64(stmt, k);
        if (c->type != ANALYSE_TEXT) return put_number(t, c, row, err, false, value, 0);
        break;
    }
    case SQLITE_FLOAT:
        if (c->type != ANALYSE_TEXT) return put_number(t, c, row, err, true, 0, sqlite3_column_double(stmt, k));
        break;
    case SQLITE_NULL: return put_null(t, c, row, err);
    default: break;
    }
    if (c->type != ANALYSE_TEXT && !retype(t, c, ANALYSE_TEXT, row, err)) return false;
    utf8 = utf8 && (sqlite3_column_type(stmt, k) == SQLITE_TEXT || sqlite3_column_type(stmt, k) == SQLITE_BLOB);
    const char *text = utf8 ? sqlite3_column_blob(stmt, k) : (const char *)sqlite3_column_text(stmt, k);
    int size = sqlite3_column_bytes(stmt, k);
    return put_text(t, c, row, text || size ? text : "", size, err);
}

// Columns that held nothing but NULL are made real, so that every column has a type.
static bool settle(struct analyse_table *t, struct analyse_error *err) {
    for (int i = 0; i < t->count; i++) {
        struct analyse_column *c = t->columns + i;
        if (!c->room) c->room = 1;
        if (c->type == ANALYSE_EMPTY && !retype(t, c, ANALYSE_I32, t->rows, err)) return false;
    }
    return true;
}

bool analyse_table_load(struct analyse_table *t, sqlite3_stmt *stmt, int *result, struct analyse_error *err) {
    int columns = sqlite3_column_count(stmt);
    if (columns > ANALYSE_MAX_COLUMNS) return analyse_fail(err, "more than %d columns", ANALYSE_MAX_COLUMNS);
    if (t->count == 0) {
        for (int k = 0; k < columns; k++) {
            const char *name = sqlite3_column_name(stmt, k);
            snprintf(t->columns[k].name, sizeof t->columns[k].name, "%s", name ? name : "");
        }
        t->count = columns;
    } else if (t->count != columns) return analyse_fail(err, "%d columns, %d expected", columns, t->count);
    int64_t room = 0;
    bool utf8 = is_utf8(sqlite3_db_handle(stmt));
    for (int k = 0; k < columns; k++)
        if (t->columns[k].room > room) room = t->columns[k].room;
    while ((*result = sqlite3_step(stmt)) == SQLITE_ROW) {
        if (t->rows == room) {
            if (room == ANALYSE_MAX_ROWS) return analyse_fail(err, "more than %d rows", ANALYSE_MAX_ROWS);
            room = room < 1024 ? 1024 : room > ANALYSE_MAX_ROWS / 2 ? ANALYSE_MAX_ROWS : room + room / 2;
            for (int k = 0; k < columns; k++) {
                struct analyse_column *c = t->columns + k;
                if (c->type == ANALYSE_EMPTY) c->room = room;
                else if (!reserve(t, c, room, err)) return false;
            }
        }
        for (int k = 0; k < columns; k++)
            if (!put(t, t->columns + k, t->rows, stmt, k, utf8, err)) return false;
        t->rows++;
    }
    return settle(t, err);
}

bool analyse_table_append(struct analyse_table *t, const struct analyse_table *other, struct analyse_error *err) {
    if (t->count == 0) {
        for (int k = 0; k < other->count; k++) memcpy(t->columns[k].name, other->columns[k].name, sizeof t->columns[k].name);
        t->count = other->count;
    }
    if (t->count != other->count) return analyse_fail(err, "%d columns, %d expected", other->count, t->count);
    int64_t rows = t->rows, more = other->rows;
    if (more > ANALYSE_MAX_ROWS - rows) return analyse_fail(err, "more than %d rows", ANALYSE_MAX_ROWS);
    for (int k = 0; k < t->count; k++) {
        struct analyse_column *c = t->columns + k;
        const struct analyse_column *o = other->columns + k;
        if (c->type == ANALYSE_EMPTY) {
            c->room = rows + more > 0 ? rows + more : 1;
            if (!retype(t, c, o->type, rows, err)) return false;
        } else if (!reserve(t, c, rows + more > 0 ? rows + more : 1, err)) return false;
        bool text = o->type == ANALYSE_TEXT;
        if (c->type != o->type) {
            enum analyse_type want = c->type > o->type ? c->type : o->type;
            if (c->type != want && !retype(t, c, want, rows, err)) return false;
        }
        if (c->type == ANALYSE_TEXT && !text) return analyse_fail(err, "column %s holds text and numbers", c->name);
        int32_t *codes = NULL;
        size_t bytes = text ? (size_t)o->dictionary->count * sizeof *codes : 0;
        if (text) {
            codes = analyse_take(t->account, bytes, err);
            if (!codes) return false;
            for (int32_t i = 0; i < o->dictionary->count; i++) {
                const struct analyse_word *w = o->dictionary->words + i;
                codes[i] = analyse_word_add(c->dictionary, w->text, w->size);
                if (codes[i] < 0) {
                    analyse_give(t->account, codes, bytes);
                    return analyse_fail(err, "the texts of %s need more memory than allowed", c->name);
                }
            }
        }
        bool fine = true;
        if (o->valid && !text) fine = make_nullable(t, c, rows, err);
        for (int64_t i = 0; i < more && fine; i++) {
            int64_t at = rows + i;
            if (text) c->i32[at] = o->i32[i] < 0 ? -1 : codes[o->i32[i]];
            else {
                if (c->type == ANALYSE_I32) c->i32[at] = o->i32[i];
                else if (c->type == ANALYSE_I64) c->i64[at] = analyse_integer(o, i);
                else c->f64[at] = analyse_number(o, i);
                if (c->valid && !analyse_is_null(o, i)) c->valid[at >> 6] |= 1ull << (at & 63);
            }
        }
        analyse_give(t->account, codes, bytes);
        if (!fine) return false;
    }
    t->rows = rows + more;
    return true;
}

bool analyse_rows_init(struct analyse_rows *r, struct account *account, int64_t room, struct analyse_error *err) {
    *r = (struct analyse_rows){.account = account};
    r->index = analyse_take(account, (size_t)room * sizeof *r->index, err);
    if (!r->index) return false;
    r->count = r->room = room;
    return true;
}

void analyse_rows_fit(struct analyse_rows *r, int64_t count) {
    struct analyse_error ignored;
    r->count = count;
    if (count > r->room / 2) return;
    size_t old = (size_t)r->room * sizeof *r->index, bytes = (size_t)count * sizeof *r->index;
    uint32_t *less = regrow(r->account, r->index, old, bytes, &ignored);
    if (less) r->index = less, r->room = count;
}

void analyse_rows_close(struct analyse_rows *r) {
    if (r->index) analyse_give(r->account, r->index, (size_t)r->room * sizeof *r->index);
    *r = (struct analyse_rows){0};
}
