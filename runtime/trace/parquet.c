// SPDX-License-Identifier: MIT
#include "trace/parquet.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace/parquet_reader.h"

enum { FOOTER_MAX = 64 << 20 };

static bool fail_at(struct parquet *p, const struct column_reader *c, enum trace_status status, const char *why,
                    struct trace_error *err) {
    return trace_fail(err, status, "%s: column %s, page %d at offset %lld: %s", p->path, c->leaf->name, c->page,
                      (long long)c->page_at, why);
}

bool parquet_damaged(struct parquet *p, const struct column_reader *c, const char *why, struct trace_error *err) {
    bool memory = strcmp(why, "out of memory") == 0;
    return fail_at(p, c, memory ? TRACE_NO_MEMORY : TRACE_BAD_DATA, why, err);
}

bool parquet_unsupported(struct parquet *p, const struct column_reader *c, const char *why, struct trace_error *err) {
    return fail_at(p, c, TRACE_UNSUPPORTED, why, err);
}

static bool read_at(struct parquet *p, int64_t at, void *out, size_t size, struct trace_error *err) {
    uint8_t *to = out;
    while (size) {
        ssize_t n = pread(p->fd, to, size, at);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return trace_fail_errno(err, errno, "read", p->path);
        if (n == 0) return trace_fail(err, TRACE_BAD_DATA, "%s: the file became shorter while it was read", p->path);
        to += n, at += n, size -= (size_t)n;
    }
    return true;
}

static bool read_footer(struct parquet *p, struct trace_error *err) {
    uint8_t head[4], tail[8];
    uint32_t length;
    if (p->size < 12)
        return trace_fail(err, TRACE_BAD_DATA, "%s: no Parquet file: %lld bytes are too few", p->path, (long long)p->size);
    if (!read_at(p, 0, head, 4, err) || !read_at(p, p->size - 8, tail, 8, err)) return false;
    if (memcmp(tail + 4, "PARE", 4) == 0) return trace_fail(err, TRACE_UNSUPPORTED, "%s: it is encrypted", p->path);
    if (memcmp(head, "PAR1", 4) != 0) return trace_fail(err, TRACE_BAD_DATA, "%s: no Parquet file: it does not begin with PAR1", p->path);
    if (memcmp(tail + 4, "PAR1", 4) != 0)
        return trace_fail(err, TRACE_BAD_DATA, "%s: it does not end with PAR1 (at offset %lld): is it cut off, or still being written?",
                          p->path, (long long)p->size - 4);
    memcpy(&length, tail, 4);
    if (length > p->size - 12)
        return trace_fail(err, TRACE_BAD_DATA, "%s: the footer is damaged: %u bytes are more than the file has (at offset %lld)",
                          p->path, length, (long long)p->size - 8);
    if (length > FOOTER_MAX)
        return trace_fail(err, TRACE_UNSUPPORTED, "%s: its footer has %u bytes, more than the %d that are read", p->path, length, FOOTER_MAX);
    struct buffer footer = {0};
    bool ok = buffer_reserve(&footer, length, &p->budget, err) && read_at(p, p->size - 8 - length, footer.bytes, length, err) &&
              parquet_meta_read(&p->meta, p->path, footer.bytes, length, p->size - 8 - length, err);
    buffer_free(&footer, &p->budget);
    return ok;
}

static bool make_columns(struct parquet *p, struct trace_error *err) {
    p->columns = calloc((size_t)p->meta.leaf_count + 1, sizeof *p->columns);
    bool ok = p->columns != NULL;
    for (int i = 0; ok && i < p->meta.leaf_count; i++) {
        struct column_reader *c = &p->columns[i];
        c->leaf = &p->meta.leaves[i];
        c->wanted = true;
        c->valid = malloc(PARQUET_ROWS);
        c->levels = malloc(2 * PARQUET_ROWS);
        c->starts = c->leaf->max_repetition ? malloc((PARQUET_ROWS + 1) * sizeof *c->starts) : NULL;
        ok = c->valid && c->levels && (c->starts || !c->leaf->max_repetition);
        json_writer_init(&c->json);
    }
    return ok || trace_fail(err, TRACE_NO_MEMORY, "out of memory");
}

bool parquet_open(struct parquet **out, const char *path, const char *folder, size_t memory, const struct trace_watch *watch,
                  struct trace_error *err) {
    *out = NULL;
    struct parquet *p = calloc(1, sizeof *p);
    if (!p) return trace_fail(err, TRACE_NO_MEMORY, "out of memory");
    p->budget = (struct buffer_budget){.limit = memory ? memory : PARQUET_MEMORY, .folder = folder};
    if (watch) p->watch = *watch;
    p->group = -1;
    p->path = strdup(path);
    p->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat st;
    bool ok = true;
    if (!p->path) ok = trace_fail(err, TRACE_NO_MEMORY, "out of memory");
    else if (p->fd < 0 || fstat(p->fd, &st) != 0) ok = trace_fail_errno(err, errno, "open", path);
    else if (!S_ISREG(st.st_mode)) ok = trace_fail(err, TRACE_IO, "open %s: %s", path, S_ISDIR(st.st_mode) ? "this is a folder" : "this is no regular file");
    else p->size = st.st_size;
    ok = ok && read_footer(p, err) && make_columns(p, err);
    if (ok) *out = p;
    else parquet_close(p);
    return ok;
}

void parquet_close(struct parquet *p) {
    if (!p) return;
    for (int i = 0; p->columns && i < p->meta.leaf_count; i++) {
        struct column_reader *c = &p->columns[i];
        struct buffer *buffers[] = {&c->bytes, &c->dictionary_bytes, &c->dictionary, &c->values, &c->raw, &c->codes_out};
        for (size_t k = 0; k < sizeof buffers / sizeof *buffers; k++) buffer_free(buffers[k], &p->budget);
        delta_texts_close(&c->texts);
        text_buffer_free(&c->dictionary_text);
        text_buffer_free(&c->text);
        text_buffer_free(&c->raw_text);
        json_writer_free(&c->json);
        free(c->valid);
        free(c->levels);
        free(c->starts);
    }
    free(p->columns);
    buffer_free(&p->packed, &p->budget);
    buffer_free(&p->header, &p->budget);
    parquet_meta_free(&p->meta);
    if (p->fd >= 0) close(p->fd);
    free(p->path);
    free(p);
}

const struct parquet_meta *parquet_meta_of(const struct parquet *p) { return &p->meta; }

void parquet_select(struct parquet *p, const bool *wanted) {
    for (int i = 0; i < p->meta.leaf_count; i++) p->columns[i].wanted = wanted[i];
}

static bool open_group(struct parquet *p, int group) {
    p->group = group;
    p->group_left = p->meta.groups[group].rows;
    for (int i = 0; i < p->meta.leaf_count; i++) {
        struct column_reader *c = &p->columns[i];
        const struct parquet_chunk *chunk = &p->meta.chunks[(size_t)group * (size_t)p->meta.leaf_count + (size_t)i];
        c->codec = chunk->codec;
        c->at = c->page_at = chunk->start;
        c->end = chunk->start + chunk->size;
        c->values_left = chunk->values;
        c->page = -1;
        c->page_left = 0;
        c->dictionary_count = -1;
        c->out.count = c->used = 0;
        c->row_open = false;
        c->json.size = c->row_start = 0;
        c->group_rows = p->group_left;
        c->rows_seen = 0;
    }
    return true;
}

// Where the values of rows that have one stand at the front of `data`, move them to their rows.
static void spread(void *data, size_t size, const uint8_t *valid, int64_t rows, int64_t values) {
#define SPREAD(T, none)                                                                                                \
    do {                                                                                                               \
        T *d = data;                                                                                                   \
        for (int64_t i = rows - 1; i >= 0; i--) {                                                                      \
            if (valid[i]) d[i] = d[--values];                                                                          \
            else d[i] = none;                                                                                          \
        }                                                                                                              \
    } while (0)
    switch (size) {
    case 1: SPREAD(uint8_t, 0); break;
    case 4: SPREAD(uint32_t, 0); break;
    case 8: SPREAD(uint64_t, 0); break;
    default: SPREAD(struct column_text, (struct column_text){0}); break;
    }
#undef SPREAD
}

// Which of `rows` entries have a value, into c->valid; *values counts them. NULL, or why not.
static const char *read_definition(struct column_reader *c, int64_t rows, int64_t *values) {
    const int max = c->leaf->max_definition;
    uint8_t *valid = c->valid;
    *values = rows;
    if (!max) return NULL;
    const char *why = hybrid_read_bytes(&c->definition, rows, max == 1 ? valid : c->levels);
    if (why) return why;
    if (max > 1) {
        uint8_t largest = 0;
        for (int64_t i = 0; i < rows; i++) {
            largest = c->levels[i] > largest ? c->levels[i] : largest;
            valid[i] = c->levels[i] == max;
        }
        if (largest > max) return "a level is out of range";
    }
    int64_t n = 0;
    for (int64_t i = 0; i < rows; i++) n += valid[i];
    *values = n;
    return NULL;
}

// Before the next rows of a column: what the rows before touched of a mapped page may leave memory. Dictionaries are read
// all over, so they are let go more seldom.
static void rest(struct column_reader *c) {
    buffer_rest(&c->bytes);
    if (c->turns++ % 64) return;
    buffer_rest(&c->dictionary_bytes);
    buffer_rest(&c->dictionary);
}

static bool decode_flat(struct parquet *p, struct column_reader *c, struct trace_error *err) {
    rest(c);
    if (!c->page_left && !parquet_load_page(p, c, err)) return false;
    int64_t rows = c->page_left < PARQUET_ROWS ? c->page_left : PARQUET_ROWS, values, got;
    const struct hybrid before = c->definition;
    enum column_type type;
    const char *why = read_definition(c, rows, &values);
    if (why) return parquet_damaged(p, c, why, err);
    c->text.size = 0;
    if (!parquet_decode_values(p, c, values, &got, &type, err)) return false;
    if (got < values) { // texts grew large: fewer rows, up to the first whose value has not come
        int64_t seen = 0, n = 0;
        for (; n < rows; n++) {
            bool has_value = !c->leaf->max_definition || c->valid[n];
            if (has_value && seen == got) break;
            seen += has_value;
        }
        rows = n, values = got;
        c->definition = before;
        read_definition(c, rows, &seen);
    }
    c->page_left -= rows;
    void *data = type == COLUMN_CODES ? c->codes_out.bytes : c->values.bytes;
    c->out = (struct column){.type = type, .count = rows, .data = data};
    if (values < rows) {
        spread(data, column_size(type), c->valid, rows, values);
        c->out.valid = c->valid;
    }
    if (type == COLUMN_CODES) {
        c->out.words = (const struct column_text *)c->dictionary.bytes;
        c->out.word_count = (int32_t)c->dictionary_count;
        if (values < rows)
            for (int64_t i = 0; i < rows; i++)
                if (!c->valid[i]) ((int32_t *)data)[i] = -1;
    }
    c->used = 0;
    return true;
}

static bool decode_lists(struct parquet *p, struct column_reader *c, struct trace_error *err) {
    rest(c);
    return parquet_decode_lists(p, c, err);
}

static struct column view(const struct column_reader *c, int64_t rows) {
    struct column out = c->out;
    out.count = rows;
    out.data = (const uint8_t *)c->out.data + (size_t)c->used * column_size(c->out.type);
    if (out.valid) out.valid += c->used;
    return out;
}

// All of a row group is read: nothing may be left over.
static bool check_end(struct parquet *p, struct trace_error *err) {
    for (int i = 0; i < p->meta.leaf_count; i++) {
        const struct column_reader *c = &p->columns[i];
        if (c->wanted && (c->page_left || c->values_left || c->used < c->out.count))
            return parquet_damaged(p, c, "it has more rows than its row group", err);
    }
    return true;
}

bool parquet_next(struct parquet *p, struct column *columns, int64_t *rows, struct trace_error *err) {
    *rows = 0;
    if (trace_stopped(&p->watch)) return trace_fail(err, TRACE_INTERRUPTED, "%s: interrupted", p->path);
    while (!p->group_left) {
        if (p->group >= 0 && p->group < p->meta.group_count && !check_end(p, err)) return false;
        if (p->group + 1 >= p->meta.group_count) return true;
        open_group(p, p->group + 1);
    }
    int64_t n = p->group_left < PARQUET_ROWS ? p->group_left : PARQUET_ROWS;
    for (int i = 0; i < p->meta.leaf_count; i++) {
        struct column_reader *c = &p->columns[i];
        if (!c->wanted) continue;
        if (c->used == c->out.count && !(c->leaf->max_repetition ? decode_lists(p, c, err) : decode_flat(p, c, err))) return false;
        int64_t left = c->out.count - c->used;
        n = left < n ? left : n;
    }
    for (int i = 0; i < p->meta.leaf_count; i++) {
        struct column_reader *c = &p->columns[i];
        columns[i] = c->wanted ? view(c, n) : (struct column){.type = COLUMN_NONE};
        if (c->wanted) c->used += n;
    }
    p->group_left -= n;
    *rows = n;
    return true;
}
