// SPDX-License-Identifier: MIT
// parquet_list.c: a leaf under something repeated: one JSON text per row, arrays inside arrays.
//
// Repetition and definition levels are described in README.md of apache/parquet-format ("Nested Encoding"). An entry with
// repetition level r goes on in the array of depth r; its definition level tells how deep values exist: an array that is
// defined but has no element is [], a missing one null. A row whose outermost array is missing is NULL.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "trace/parquet_reader.h"

static void put(struct column_reader *c, const char *text, size_t size) { json_put(&c->json, text, size); }

static void put_value(struct column_reader *c, enum column_type type, int64_t i) {
    const void *data = type == COLUMN_CODES ? c->codes_out.bytes : c->values.bytes;
    struct json_writer *w = &c->json;
    double number;
    switch (type) {
    case COLUMN_BOOL: put(c, ((const uint8_t *)data)[i] ? "true" : "false", ((const uint8_t *)data)[i] ? 4 : 5); return;
    case COLUMN_INT32: json_put_integer(w, ((const int32_t *)data)[i]); return;
    case COLUMN_UINT32: json_put_integer(w, ((const uint32_t *)data)[i]); return;
    case COLUMN_INT64: json_put_integer(w, ((const int64_t *)data)[i]); return;
    case COLUMN_UINT64: {
        char text[24];
        put(c, text, (size_t)snprintf(text, sizeof text, "%llu", (unsigned long long)((const uint64_t *)data)[i]));
        return;
    }
    case COLUMN_FLOAT32:
    case COLUMN_FLOAT64:
        number = type == COLUMN_FLOAT32 ? (double)((const float *)data)[i] : ((const double *)data)[i];
        if (isfinite(number)) json_put_double(w, number);
        else put(c, "null", 4); // JSON has no NaN and no infinity
        return;
    default: {
        const struct column_text *t = type == COLUMN_CODES
                                          ? &((const struct column_text *)c->dictionary.bytes)[((const int32_t *)data)[i]]
                                          : &((const struct column_text *)data)[i];
        json_put_string(w, t->bytes, t->length, true);
    }
    }
}

static void end_row(struct column_reader *c, int64_t *rows) {
    while (c->open > 0) put(c, "]", 1), c->open--;
    if (c->row_null) c->json.size = c->row_start;
    c->valid[*rows] = !c->row_null;
    c->starts[++*rows] = (int64_t)c->json.size;
    c->row_open = false;
    c->rows_seen++;
}

// One entry. *used counts the values taken.
static const char *add_entry(struct column_reader *c, int repetition, int definition, enum column_type type, int64_t *used) {
    const struct parquet_leaf *leaf = c->leaf;
    if (repetition > leaf->max_repetition || definition > leaf->max_definition) return "a level is out of range";
    if (repetition == 0) {
        c->row_open = true;
        c->row_null = false;
        c->row_start = c->json.size;
        c->open = 0;
    } else {
        if (!c->row_open || repetition > c->open) return "its first entry goes on with a row that has not begun";
        while (c->open > repetition) put(c, "]", 1), c->open--;
        if (definition < leaf->list_definition[repetition - 1]) return "a repeated entry has no value";
        put(c, ",", 1);
    }
    for (int k = repetition; k < leaf->max_repetition; k++) {
        int wanted = leaf->list_definition[k];
        if (definition >= wanted) {
            put(c, "[", 1);
            c->open = k + 1;
        } else {
            if (definition == wanted - 1) put(c, "[]", 2);
            else if (k == 0) c->row_null = true;
            else put(c, "null", 4);
            return NULL;
        }
    }
    if (definition == leaf->max_definition) put_value(c, type, (*used)++);
    else put(c, "null", 4);
    return NULL;
}

// Levels of up to `count` entries, from copies of the decoders, so that they can be taken back.
static const char *read_levels(struct column_reader *c, int64_t count, uint8_t *repetition, uint8_t *definition) {
    const char *why = hybrid_read_bytes(&c->repetition, count, repetition);
    if (!why && c->leaf->max_definition) why = hybrid_read_bytes(&c->definition, count, definition);
    return why;
}

bool parquet_decode_lists(struct parquet *p, struct column_reader *c, struct trace_error *err) {
    int64_t rows = 0;
    uint8_t *repetition = c->levels, *definition = c->levels + PARQUET_ROWS;
    // What is left of a row that was begun stays at the front.
    size_t kept = c->row_open ? c->json.size - c->row_start : 0;
    if (kept) memmove(c->json.data, c->json.data + c->row_start, kept);
    c->json.size = kept;
    c->row_start = 0;
    c->starts[0] = 0;
    while (rows < PARQUET_ROWS - 1 && c->json.size < PARQUET_TEXT_SOFT * 2) {
        if (!c->page_left) {
            if (!c->values_left) break;
            if (!parquet_load_page(p, c, err)) return false;
        }
        int64_t count = c->page_left < PARQUET_ROWS ? c->page_left : PARQUET_ROWS, values = 0, got, used = 0, taken = 0;
        const struct hybrid before[2] = {c->repetition, c->definition};
        const char *why = read_levels(c, count, repetition, definition);
        if (why) return parquet_damaged(p, c, why, err);
        // No more entries than rows can be held; the decoded values must all be used.
        int64_t begins = rows - !c->row_open, most = 0;
        for (; most < count; most++) {
            begins += repetition[most] == 0;
            if (begins > PARQUET_ROWS - 2) break;
            values += definition[most] == c->leaf->max_definition;
        }
        enum column_type type;
        c->text.size = 0;
        if (!parquet_decode_values(p, c, values, &got, &type, err)) return false;
        for (; taken < most; taken++) {
            bool has_value = definition[taken] == c->leaf->max_definition;
            if (has_value && used == got) break;
            if (repetition[taken] == 0 && c->row_open) end_row(c, &rows);
            if ((why = add_entry(c, repetition[taken], definition[taken], type, &used))) return parquet_damaged(p, c, why, err);
            if (c->json.size - c->row_start > PARQUET_TEXT_HARD)
                return parquet_unsupported(p, c, "a list is longer than a database takes", err);
        }
        if (c->json.failed) return trace_fail(err, TRACE_NO_MEMORY, "out of memory");
        if (taken < count) { // give back the levels that were not used
            c->repetition = before[0], c->definition = before[1];
            read_levels(c, taken, repetition, definition);
        }
        c->page_left -= taken;
        if (!taken) break;
    }
    if (!c->page_left && !c->values_left && c->row_open) end_row(c, &rows);
    if (c->json.failed) return trace_fail(err, TRACE_NO_MEMORY, "out of memory");
    if (!rows) return parquet_damaged(p, c, "it has fewer rows than its row group", err);
    struct column_text *texts;
    if (!buffer_reserve(&c->raw, (size_t)PARQUET_ROWS * sizeof *texts, &p->budget, err)) return false;
    texts = (struct column_text *)c->raw.bytes;
    const char *base = c->json.data ? c->json.data : "";
    for (int64_t i = 0; i < rows; i++)
        texts[i] = (struct column_text){c->valid[i] ? base + c->starts[i] : NULL, (uint32_t)(c->starts[i + 1] - c->starts[i])};
    c->out = (struct column){.type = COLUMN_TEXT, .count = rows, .data = texts, .valid = c->valid};
    c->used = 0;
    return true;
}
