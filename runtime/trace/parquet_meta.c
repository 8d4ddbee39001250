// SPDX-License-Identifier: MIT
#include "trace/parquet_meta.h"

#include <stdlib.h>
#include <string.h>

#include "trace/thrift.h"

enum { REQUIRED = 0, OPTIONAL = 1, REPEATED = 2 };

// Numbers of ConvertedType and of the members of LogicalType.
enum { CONVERTED_UTF8, CONVERTED_MAP, CONVERTED_MAP_KEY_VALUE, CONVERTED_LIST, CONVERTED_ENUM, CONVERTED_DECIMAL,
       CONVERTED_DATE, CONVERTED_TIME_MILLIS, CONVERTED_TIME_MICROS, CONVERTED_STAMP_MILLIS, CONVERTED_STAMP_MICROS,
       CONVERTED_UINT_8, CONVERTED_UINT_16, CONVERTED_UINT_32, CONVERTED_UINT_64, CONVERTED_JSON = 19,
       CONVERTED_BSON = 20 };
enum { LOGICAL_NONE, LOGICAL_STRING, LOGICAL_MAP, LOGICAL_LIST, LOGICAL_ENUM, LOGICAL_DECIMAL, LOGICAL_DATE,
       LOGICAL_TIME, LOGICAL_STAMP, LOGICAL_INTEGER = 10, LOGICAL_JSON = 12, LOGICAL_BSON = 13, LOGICAL_UUID = 14,
       LOGICAL_FLOAT16 = 15 };

struct element {
    const char *name;
    size_t name_size;
    int type, fixed_size, repetition, children, converted, scale, precision; // -1: not given
    int logical, unit, bits; // unit: of times, 1 ms, 2 us, 3 ns
    bool is_signed;
};

struct reader {
    struct parquet_meta *meta;
    struct thrift t;
    const char *path;
    struct element *elements;
    int element_count, next;
    int leaf_room;
    int64_t file_size;
    struct trace_error *err;
};

static bool damaged(struct reader *r, const char *why) {
    return trace_fail(r->err, TRACE_BAD_DATA, "%s: the footer is damaged: %s", r->path, why);
}

static bool no_memory(struct reader *r) { return trace_fail(r->err, TRACE_NO_MEMORY, "out of memory"); }

// Schema elements ----------------------------------------------------------------------------------------------------

static void read_unit(struct thrift *t, int type, struct element *e) { // TimeType, TimestampType
    int id = 0, kind;
    if (!thrift_enter(t, type)) return;
    while (thrift_field(t, &id, &kind)) {
        if (id != 2 || kind != THRIFT_STRUCT) {
            thrift_skip(t, kind);
            continue;
        }
        int unit = 0, inner;
        if (!thrift_enter(t, kind)) return;
        while (thrift_field(t, &unit, &inner)) {
            e->unit = unit;
            thrift_skip(t, inner);
        }
        thrift_leave(t);
    }
    thrift_leave(t);
}

static void read_logical(struct thrift *t, int type, struct element *e) {
    int id = 0, kind;
    if (!thrift_enter(t, type)) return;
    while (thrift_field(t, &id, &kind)) {
        e->logical = id;
        if (kind != THRIFT_STRUCT) {
            thrift_skip(t, kind);
        } else if (id == LOGICAL_TIME || id == LOGICAL_STAMP) {
            read_unit(t, kind, e);
        } else if (id == LOGICAL_DECIMAL || id == LOGICAL_INTEGER) {
            int field = 0, inner;
            if (!thrift_enter(t, kind)) return;
            while (thrift_field(t, &field, &inner)) {
                if (id == LOGICAL_DECIMAL && field == 1) e->scale = thrift_i32(t, inner);
                else if (id == LOGICAL_DECIMAL && field == 2) e->precision = thrift_i32(t, inner);
                else if (id == LOGICAL_INTEGER && field == 1) e->bits = (int)thrift_integer(t, inner);
                else if (id == LOGICAL_INTEGER && field == 2) e->is_signed = thrift_bool(t, inner);
                else thrift_skip(t, inner);
            }
            thrift_leave(t);
        } else {
            thrift_skip(t, kind);
        }
    }
    thrift_leave(t);
}

static void read_element(struct thrift *t, int type, struct element *e) {
    *e = (struct element){.name = "", .type = -1, .converted = -1, .is_signed = true};
    int id = 0, kind;
    if (!thrift_enter(t, type)) return;
    while (thrift_field(t, &id, &kind)) switch (id) {
        case 1: e->type = thrift_i32(t, kind); break;
        case 2: e->fixed_size = thrift_i32(t, kind); break;
        case 3: e->repetition = thrift_i32(t, kind); break;
        case 4: e->name = thrift_binary(t, kind, &e->name_size); break;
        case 5: e->children = thrift_i32(t, kind); break;
        case 6: e->converted = thrift_i32(t, kind); break;
        case 7: e->scale = thrift_i32(t, kind); break;
        case 8: e->precision = thrift_i32(t, kind); break;
        case 10: read_logical(t, kind, e); break;
        default: thrift_skip(t, kind);
        }
    thrift_leave(t);
}

static bool read_schema(struct reader *r, int type) {
    int kind;
    uint32_t n = thrift_list(&r->t, type, &kind);
    if (r->elements) return damaged(r, "it has two schemas");
    r->elements = calloc((size_t)n + 1, sizeof *r->elements);
    if (!r->elements) return no_memory(r);
    for (uint32_t i = 0; i < n && !r->t.why; i++) read_element(&r->t, kind, &r->elements[i]);
    r->element_count = (int)n;
    return true;
}

// Leaves -------------------------------------------------------------------------------------------------------------

static bool is_list(const struct element *e) { return e->logical == LOGICAL_LIST || e->converted == CONVERTED_LIST; }
static bool is_map(const struct element *e) {
    return e->logical == LOGICAL_MAP || e->converted == CONVERTED_MAP || e->converted == CONVERTED_MAP_KEY_VALUE;
}

static void set_meaning(struct parquet_leaf *f, const struct element *e) {
    static const enum column_type plain[] = {COLUMN_BOOL,    COLUMN_INT32,   COLUMN_INT64, COLUMN_INT64,
                                             COLUMN_FLOAT32, COLUMN_FLOAT64, COLUMN_TEXT,  COLUMN_TEXT};
    f->out = plain[f->type];
    f->meaning = f->type == PARQUET_INT96        ? MEANING_INT96
                 : f->type == PARQUET_BYTE_ARRAY ? MEANING_TEXT
                 : f->type == PARQUET_FIXED      ? MEANING_HEX
                                                 : MEANING_PLAIN;
    bool integer = f->type == PARQUET_INT32 || f->type == PARQUET_INT64;
    bool decimal = e->logical == LOGICAL_DECIMAL || e->converted == CONVERTED_DECIMAL;
    bool is_unsigned = (e->logical == LOGICAL_INTEGER && !e->is_signed) ||
                       (e->converted >= CONVERTED_UINT_8 && e->converted <= CONVERTED_UINT_64);
    int64_t factor = 0;
    if (e->logical == LOGICAL_TIME || e->logical == LOGICAL_STAMP)
        factor = e->unit == 1 ? 1000000 : e->unit == 2 ? 1000 : 1;
    else if (e->converted == CONVERTED_TIME_MILLIS || e->converted == CONVERTED_STAMP_MILLIS) factor = 1000000;
    else if (e->converted == CONVERTED_TIME_MICROS || e->converted == CONVERTED_STAMP_MICROS) factor = 1000;
    if (decimal && f->type != PARQUET_BOOLEAN && f->type != PARQUET_FLOAT && f->type != PARQUET_DOUBLE &&
        f->type != PARQUET_INT96 && e->scale >= 0 && e->scale <= 308) {
        f->meaning = MEANING_DECIMAL;
        f->scale = e->scale;
        f->precision = e->precision;
        f->out = e->scale == 0 && e->precision <= 18 ? COLUMN_INT64 : COLUMN_FLOAT64;
    } else if (integer && is_unsigned) {
        f->meaning = MEANING_UNSIGNED;
        f->out = f->type == PARQUET_INT32 ? COLUMN_UINT32 : COLUMN_UINT64;
    } else if (integer && factor) {
        f->meaning = factor == 1 && f->type == PARQUET_INT64 ? MEANING_PLAIN : MEANING_TIME;
        f->factor = factor;
        f->out = COLUMN_INT64;
    } else if (f->type == PARQUET_INT32 && (e->logical == LOGICAL_DATE || e->converted == CONVERTED_DATE)) {
        f->meaning = MEANING_DATE;
        f->out = COLUMN_TEXT;
    } else if (f->type == PARQUET_FIXED && f->fixed_size == 2 && e->logical == LOGICAL_FLOAT16) {
        f->meaning = MEANING_FLOAT16;
        f->out = COLUMN_FLOAT32;
    } else if (f->type == PARQUET_FIXED && f->fixed_size == 16 && e->logical == LOGICAL_UUID) {
        f->meaning = MEANING_UUID;
    } else if (f->type == PARQUET_FIXED && (e->logical == LOGICAL_STRING || e->logical == LOGICAL_JSON ||
                                            e->logical == LOGICAL_ENUM || e->converted == CONVERTED_UTF8)) {
        f->meaning = MEANING_TEXT;
    }
}

// Where the walk stands: the path of names so far, and levels.
struct place {
    char path[1024];
    size_t length;
    int definition, repetition, depth;
    uint8_t list_definition[PARQUET_NESTING_MAX];
};

static bool add_leaf(struct reader *r, const struct element *e, const struct place *at) {
    struct parquet_meta *m = r->meta;
    if (m->leaf_count == r->leaf_room) {
        int room = r->leaf_room ? r->leaf_room * 2 : 64;
        struct parquet_leaf *grown = realloc(m->leaves, (size_t)room * sizeof *grown);
        if (!grown) return no_memory(r);
        m->leaves = grown;
        r->leaf_room = room;
    }
    struct parquet_leaf *f = &m->leaves[m->leaf_count];
    *f = (struct parquet_leaf){.type = (enum parquet_type)e->type, .fixed_size = e->fixed_size,
                               .max_definition = at->definition, .max_repetition = at->repetition,
                               .required = at->definition == 0};
    memcpy(f->list_definition, at->list_definition, sizeof f->list_definition);
    if (f->type == PARQUET_FIXED && (e->fixed_size < 1 || e->fixed_size > 1 << 20))
        return damaged(r, "the size of a fixed column is out of range");
    set_meaning(f, e);
    f->name = strndup(at->path, at->length);
    if (!f->name) return no_memory(r);
    m->leaf_count++;
    return true;
}

// The element at r->next and what is below it. `silent` levels add nothing to the path.
static bool walk(struct reader *r, struct place at, int silent) {
    if (r->next >= r->element_count) return damaged(r, "its schema ends early");
    const struct element *e = &r->elements[r->next++];
    if (e->repetition < REQUIRED || e->repetition > REPEATED || e->children < 0)
        return damaged(r, "its schema has a repetition that is unknown");
    if (++at.depth >= PARQUET_NESTING_MAX)
        return trace_fail(r->err, TRACE_UNSUPPORTED, "%s: its columns are nested more than %d deep", r->path, PARQUET_NESTING_MAX);
    at.definition += e->repetition != REQUIRED;
    if (e->repetition == REPEATED) at.list_definition[at.repetition++] = (uint8_t)at.definition;
    if (!silent) {
        if (memchr(e->name, 0, e->name_size)) return damaged(r, "the name of a column holds a NUL byte");
        if (at.length + e->name_size + 2 > sizeof at.path) return damaged(r, "the name of a column is too long");
        if (at.length) at.path[at.length++] = '.';
        memcpy(at.path + at.length, e->name, e->name_size);
        at.length += e->name_size;
    }
    if (!e->children) {
        if (e->type < 0) return true; // a group without columns
        if (e->type > PARQUET_FIXED) return damaged(r, "its schema has a type that is unknown");
        return add_leaf(r, e, &at);
    }
    int quiet = silent > 1 ? silent - 1 : 0;
    if (is_map(e)) quiet = 1;
    else if (is_list(e) && e->children == 1 && r->next < r->element_count) {
        const struct element *inner = &r->elements[r->next];
        // list.element, but an element that is itself a repeated group with several columns keeps their names
        bool array = inner->name_size == 5 && memcmp(inner->name, "array", 5) == 0;
        quiet = inner->children == 1 && !array ? 2 : 1;
    }
    for (int i = 0; i < e->children; i++)
        if (!walk(r, at, quiet)) return false;
    return true;
}

static bool make_leaves(struct reader *r) {
    if (r->element_count == 0) return damaged(r, "it has no schema");
    r->next = 1;
    for (int i = 0; i < r->elements[0].children; i++)
        if (!walk(r, (struct place){0}, 0)) return false;
    return true;
}

// Row groups ---------------------------------------------------------------------------------------------------------

static bool chunk_metadata(struct reader *r, int type, struct parquet_chunk *c, int *stored) {
    struct thrift *t = &r->t;
    int id = 0, kind;
    int64_t data = -1, dictionary = -1;
    if (!thrift_enter(t, type)) return false;
    while (thrift_field(t, &id, &kind)) switch (id) {
        case 1: *stored = thrift_i32(t, kind); break;
        case 4: {
            int32_t codec = thrift_i32(t, kind);
            c->codec = codec < 0 || codec > 127 ? 127 : (int8_t)codec;
            break;
        }
        case 5: c->values = thrift_integer(t, kind); break;
        case 7: c->size = thrift_integer(t, kind); break;
        case 9: data = thrift_integer(t, kind); break;
        case 11: dictionary = thrift_integer(t, kind); break;
        default: thrift_skip(t, kind);
        }
    thrift_leave(t);
    c->start = dictionary > 0 && dictionary < data ? dictionary : data;
    return true;
}

static bool read_chunk(struct reader *r, int type, int group, int leaf) {
    struct parquet_meta *m = r->meta;
    struct thrift *t = &r->t;
    struct parquet_chunk *c = &m->chunks[(size_t)group * (size_t)m->leaf_count + (size_t)leaf];
    int id = 0, kind, stored = -1;
    if (!thrift_enter(t, type)) return true;
    while (thrift_field(t, &id, &kind)) {
        size_t size = 0;
        if (id == 1) {
            thrift_binary(t, kind, &size);
            if (size) return trace_fail(r->err, TRACE_UNSUPPORTED, "%s: its columns are in other files", r->path);
        } else if (id == 3) {
            chunk_metadata(r, kind, c, &stored);
        } else if (id == 8) {
            return trace_fail(r->err, TRACE_UNSUPPORTED, "%s: its columns are encrypted", r->path);
        } else {
            thrift_skip(t, kind);
        }
    }
    thrift_leave(t);
    if (t->why) return true; // said by the caller
    if (stored != (int)m->leaves[leaf].type)
        return trace_fail(r->err, TRACE_BAD_DATA, "%s: the footer is damaged: column %s has type %d in row group %d, %d in the schema",
                          r->path, m->leaves[leaf].name, stored, group, m->leaves[leaf].type);
    if (c->values < 0 || c->start < 4 || c->size < 0 || c->start > r->file_size || c->size > r->file_size - c->start)
        return trace_fail(r->err, TRACE_BAD_DATA,
                          "%s: column %s of row group %d lies outside of the file (offset %lld, %lld bytes): is it cut off?",
                          r->path, m->leaves[leaf].name, group, (long long)c->start, (long long)c->size);
    return true;
}

static bool read_group(struct reader *r, int type, int group) {
    struct parquet_meta *m = r->meta;
    int id = 0, kind, columns = -1;
    if (!thrift_enter(&r->t, type)) return true;
    while (thrift_field(&r->t, &id, &kind)) {
        if (id == 1) {
            int element;
            columns = (int)thrift_list(&r->t, kind, &element);
            if (columns != m->leaf_count && !r->t.why)
                return damaged(r, "a row group has another number of columns than the schema");
            for (int i = 0; i < columns && !r->t.why; i++)
                if (!read_chunk(r, element, group, i)) return false;
        } else if (id == 3) {
            m->groups[group].rows = thrift_integer(&r->t, kind);
        } else {
            thrift_skip(&r->t, kind);
        }
    }
    thrift_leave(&r->t);
    if (r->t.why) return true;
    if (columns < 0 && m->leaf_count) return damaged(r, "a row group has no columns");
    if (m->groups[group].rows < 0) return damaged(r, "a number of rows is negative");
    for (int i = 0; i < m->leaf_count; i++) {
        const struct parquet_chunk *c = &m->chunks[(size_t)group * (size_t)m->leaf_count + (size_t)i];
        if (m->leaves[i].max_repetition ? c->values < m->groups[group].rows : c->values != m->groups[group].rows)
            return trace_fail(r->err, TRACE_BAD_DATA,
                              "%s: the footer is damaged: column %s of row group %d has %lld values for %lld rows", r->path,
                              m->leaves[i].name, group, (long long)c->values, (long long)m->groups[group].rows);
    }
    return true;
}

static bool read_groups(struct reader *r, int type) {
    struct parquet_meta *m = r->meta;
    int kind;
    uint32_t n = thrift_list(&r->t, type, &kind);
    if (!r->elements || m->leaves || m->groups) return damaged(r, "its parts are out of order");
    if (!make_leaves(r)) return false;
    // Every chunk takes more than ten bytes of the footer, so hostile counts cannot claim much memory.
    if (m->leaf_count && n > (uint64_t)(r->t.end - r->t.at) / (uint64_t)m->leaf_count)
        return damaged(r, "it names more row groups than it can hold");
    m->groups = calloc((size_t)n + 1, sizeof *m->groups);
    m->chunks = calloc((size_t)n * (size_t)m->leaf_count + 1, sizeof *m->chunks);
    if (!m->groups || !m->chunks) return no_memory(r);
    m->group_count = (int)n;
    for (uint32_t i = 0; i < n && !r->t.why; i++)
        if (!read_group(r, kind, (int)i)) return false;
    return true;
}

static bool read_pairs(struct reader *r, int type) {
    struct parquet_meta *m = r->meta;
    int kind;
    uint32_t n = thrift_list(&r->t, type, &kind);
    if (m->keys) return damaged(r, "its parts are out of order");
    m->keys = calloc((size_t)n + 1, sizeof(char *));
    m->values = calloc((size_t)n + 1, sizeof(char *));
    if (!m->keys || !m->values) return no_memory(r);
    for (uint32_t i = 0; i < n && !r->t.why; i++) {
        int id = 0, field;
        const char *text[2] = {"", ""};
        size_t size[2] = {0, 0};
        if (!thrift_enter(&r->t, kind)) break;
        while (thrift_field(&r->t, &id, &field))
            if (id == 1 || id == 2) text[id - 1] = thrift_binary(&r->t, field, &size[id - 1]);
            else thrift_skip(&r->t, field);
        thrift_leave(&r->t);
        m->keys[m->pairs] = strndup(text[0], size[0]);
        m->values[m->pairs++] = strndup(text[1], size[1]);
        if (!m->keys[m->pairs - 1] || !m->values[m->pairs - 1]) return no_memory(r);
    }
    return true;
}

static bool read_footer(struct reader *r) {
    struct thrift *t = &r->t;
    struct parquet_meta *m = r->meta;
    int id = 0, kind;
    m->rows = -1;
    while (thrift_field(t, &id, &kind)) {
        bool ok = true;
        if (id == 2) ok = read_schema(r, kind);
        else if (id == 3) m->rows = thrift_integer(t, kind);
        else if (id == 4) ok = read_groups(r, kind);
        else if (id == 5) ok = read_pairs(r, kind);
        else if (id == 6 && !m->created_by) {
            size_t size;
            const char *text = thrift_binary(t, kind, &size);
            m->created_by = strndup(text, size);
            if (!m->created_by) return no_memory(r);
        } else if (id == 8)
            return trace_fail(r->err, TRACE_UNSUPPORTED, "%s: it is encrypted", r->path);
        else thrift_skip(t, kind);
        if (!ok) return false;
    }
    if (t->why) return damaged(r, t->why);
    if (!r->elements) return damaged(r, "it has no schema");
    if (!m->groups) return damaged(r, "it has no list of row groups");
    int64_t rows = 0;
    for (int i = 0; i < m->group_count; i++)
        if (__builtin_add_overflow(rows, m->groups[i].rows, &rows)) return damaged(r, "a number of rows is out of range");
    if (rows != m->rows)
        return trace_fail(r->err, TRACE_BAD_DATA, "%s: the footer is damaged: it speaks of %lld rows, its row groups of %lld",
                          r->path, (long long)m->rows, (long long)rows);
    // A few bytes can stand for any number of NULLs; no profile has this many rows, and no disk has room for them.
    if (rows > (int64_t)1 << 32)
        return trace_fail(r->err, TRACE_UNSUPPORTED, "%s: %lld rows are more than are read", r->path, (long long)rows);
    if (!m->created_by && !(m->created_by = strdup(""))) return no_memory(r);
    return true;
}

bool parquet_meta_read(struct parquet_meta *m, const char *path, const void *footer, size_t size, int64_t file_size,
                       struct trace_error *err) {
    *m = (struct parquet_meta){0};
    struct reader r = {.meta = m, .t = thrift_over(footer, size), .path = path, .file_size = file_size, .err = err};
    bool ok = read_footer(&r);
    free(r.elements);
    if (!ok) parquet_meta_free(m);
    return ok;
}

void parquet_meta_free(struct parquet_meta *m) {
    for (int i = 0; i < m->leaf_count; i++) free(m->leaves[i].name);
    for (int i = 0; i < m->pairs; i++) free(m->keys[i]), free(m->values[i]);
    free(m->leaves);
    free(m->groups);
    free(m->chunks);
    free(m->keys);
    free(m->values);
    free(m->created_by);
    *m = (struct parquet_meta){0};
}
