// SPDX-License-Identifier: MIT
#include "trace/bulk.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    LEAF = 0x0D,
    INTERIOR = 0x05,
    LEAF_HEADER = 8,
    INTERIOR_HEADER = 12,
    FILE_HEADER = 100,
    LOCAL_MAX = BULK_PAGE - 35, // a larger payload goes on in overflow pages
    LOCAL_MIN = (BULK_PAGE - 12) * 32 / 255 - 23,
    OVERFLOW_BYTES = BULK_PAGE - 4,
    LOCK_PAGE = (1 << 30) / BULK_PAGE + 1, // never used: SQLite locks bytes of it
    OUT_PAGES = 128,
};

struct child {
    uint32_t page;
    int64_t last; // rowid
};

struct tree {
    uint8_t *page; // the leaf being filled
    int cells;
    size_t content; // offset of its lowest cell
    size_t header;  // bytes kept free at its front beyond the page's own header
    int64_t rowid;  // of the last row
    struct child *children;
    size_t count, room;
};

struct table {
    char *name, *sql;
    enum bulk_affinity *affinities;
    int columns;
    struct tree tree;
    uint32_t root;
};

struct bulk {
    int fd;
    const char *path;
    struct table *tables;
    int count;
    uint32_t pages; // given out so far
    uint8_t *out;   // pages out_first ... not yet written
    uint32_t out_first, out_count;
    struct record record; // the row being written
};

static bool no_memory(struct trace_error *err) { return trace_fail(err, TRACE_NO_MEMORY, "out of memory"); }

static void put16(uint8_t *p, unsigned v) { p[0] = (uint8_t)(v >> 8), p[1] = (uint8_t)v; }

static void put32(uint8_t *p, uint32_t v) {
    v = __builtin_bswap32(v);
    memcpy(p, &v, 4);
}

static size_t varint_size(uint64_t v) {
    size_t n = 1;
    while (v >>= 7) n++;
    return n < 9 ? n : 9;
}

// Pages --------------------------------------------------------------------------------------------------------------

static bool write_at(struct bulk *b, int64_t at, const uint8_t *bytes, size_t size, struct trace_error *err) {
    while (size) {
        ssize_t n = pwrite(b->fd, bytes, size, at);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return trace_fail_errno(err, n ? errno : ENOSPC, "write", b->path);
        bytes += n, at += n, size -= (size_t)n;
    }
    return true;
}

static bool flush(struct bulk *b, struct trace_error *err) {
    if (!b->out_count) return true;
    bool ok = write_at(b, (int64_t)(b->out_first - 1) * BULK_PAGE, b->out, (size_t)b->out_count * BULK_PAGE, err);
    b->out_count = 0;
    return ok;
}

// A place for the next page; *number is its number. NULL: an error.
static uint8_t *new_page(struct bulk *b, uint32_t *number, struct trace_error *err) {
    if (b->pages + 1 == LOCK_PAGE) {
        if (!flush(b, err)) return NULL;
        b->pages++;
    }
    if (b->pages == UINT32_MAX - 2) {
        trace_fail(err, TRACE_NO_SPACE, "%s: the database would be too large", b->path);
        return NULL;
    }
    if (b->out_count == OUT_PAGES && !flush(b, err)) return NULL;
    *number = ++b->pages;
    if (!b->out_count) b->out_first = *number;
    return b->out + (size_t)b->out_count++ * BULK_PAGE;
}

static bool add_child(struct tree *t, uint32_t page, int64_t last, struct trace_error *err) {
    if (t->count == t->room) {
        size_t room = t->room ? t->room * 2 : 64;
        struct child *grown = realloc(t->children, room * sizeof *grown);
        if (!grown) return no_memory(err);
        t->children = grown;
        t->room = room;
    }
    t->children[t->count++] = (struct child){page, last};
    return true;
}

static void begin_leaf(struct tree *t) {
    t->cells = 0;
    t->content = BULK_PAGE;
}

// Headers of a page: its cells are in place, their pointers too. `at` is where the header stands.
static void head_leaf(uint8_t *page, size_t at, int cells, size_t content) {
    page[at] = LEAF;
    put16(page + at + 1, 0);
    put16(page + at + 3, (unsigned)cells);
    put16(page + at + 5, (unsigned)content);
    page[at + 7] = 0;
}

static bool end_leaf(struct bulk *b, struct tree *t, struct trace_error *err) {
    uint32_t number;
    uint8_t *page = new_page(b, &number, err);
    if (!page) return false;
    head_leaf(t->page, 0, t->cells, t->content);
    size_t pointers = LEAF_HEADER + (size_t)t->cells * 2;
    memset(t->page + pointers, 0, t->content - pointers);
    memcpy(page, t->page, BULK_PAGE);
    begin_leaf(t);
    return add_child(t, number, t->rowid, err);
}

// An interior page over `count` children, the last of which is the right-most one; at `at` of `page`.
static void make_interior(uint8_t *page, size_t at, const struct child *children, size_t count) {
    size_t content = BULK_PAGE, pointer = at + INTERIOR_HEADER;
    memset(page + at, 0, BULK_PAGE - at);
    for (size_t i = 0; i + 1 < count; i++, pointer += 2) {
        size_t size = 4 + varint_size((uint64_t)children[i].last);
        content -= size;
        put32(page + content, children[i].page);
        record_varint(page + content + 4, (uint64_t)children[i].last);
        put16(page + pointer, (unsigned)content);
    }
    page[at] = INTERIOR;
    put16(page + at + 3, (unsigned)(count - 1));
    put16(page + at + 5, (unsigned)content);
    put32(page + at + 8, children[count - 1].page);
}

// How many of `count` children one interior page takes: at least two, and never all but one.
static size_t fit_interior(size_t at, const struct child *children, size_t count) {
    size_t free = BULK_PAGE - at - INTERIOR_HEADER, n = 0;
    for (; n + 1 < count; n++) {
        size_t size = 6 + varint_size((uint64_t)children[n].last);
        if (size > free) break;
        free -= size;
    }
    size_t taken = n + 1; // n cells and the right-most child
    return count - taken == 1 ? taken - 1 : taken;
}

// Levels of interior pages until the rest fits one page with `front` bytes kept free; those children remain.
static bool build_levels(struct bulk *b, struct tree *t, size_t front, struct trace_error *err) {
    while (t->count > 1 && fit_interior(front, t->children, t->count) < t->count) {
        size_t made = 0;
        for (size_t i = 0; i < t->count;) {
            size_t n = fit_interior(0, t->children + i, t->count - i);
            uint32_t number;
            uint8_t *page = new_page(b, &number, err);
            if (!page) return false;
            make_interior(page, 0, t->children + i, n);
            t->children[made++] = (struct child){number, t->children[i + n - 1].last};
            i += n;
        }
        t->count = made;
    }
    return true;
}

// The root of a table's tree.
static bool end_tree(struct bulk *b, struct tree *t, uint32_t *root, struct trace_error *err) {
    if ((t->cells || !t->count) && !end_leaf(b, t, err)) return false;
    if (!build_levels(b, t, 0, err)) return false;
    if (t->count == 1) {
        *root = t->children[0].page;
        return true;
    }
    uint8_t *page = new_page(b, root, err);
    if (page) make_interior(page, 0, t->children, t->count);
    return page != NULL;
}

// Cells --------------------------------------------------------------------------------------------------------------

// Bytes from .. from + size of a record.
static void copy_payload(const struct record *p, size_t from, size_t size, uint8_t *out) {
    const uint8_t *parts[] = {p->size, p->types, p->body};
    const size_t sizes[] = {p->size_bytes, p->type_bytes, p->body_bytes};
    for (int i = 0; i < 3 && size; i++) {
        if (from >= sizes[i]) {
            from -= sizes[i];
            continue;
        }
        size_t n = sizes[i] - from < size ? sizes[i] - from : size;
        memcpy(out, parts[i] + from, n);
        out += n, size -= n, from = 0;
    }
}

static bool put_overflow(struct bulk *b, const struct record *p, size_t from, size_t total, uint32_t *first,
                         struct trace_error *err) {
    *first = 0;
    int64_t link = -1; // where in the file the last page's link stands, when that page has been written already
    uint8_t *previous = NULL;
    while (from < total) {
        uint32_t number, before = b->out_first;
        uint8_t *page = new_page(b, &number, err);
        if (!page) return false;
        size_t n = total - from < OVERFLOW_BYTES ? total - from : OVERFLOW_BYTES;
        memset(page, 0, BULK_PAGE);
        copy_payload(p, from, n, page + 4);
        from += n;
        if (!*first) *first = number;
        else if (b->out_first == before) put32(previous, number);
        else { // the page before went out with the buffer
            uint8_t bytes[4];
            put32(bytes, number);
            if (!write_at(b, link, bytes, 4, err)) return false;
        }
        previous = page;
        link = (int64_t)(number - 1) * BULK_PAGE;
    }
    return true;
}

static bool put_cell(struct bulk *b, struct tree *t, const struct record *p, struct trace_error *err) {
    size_t total = p->size_bytes + p->type_bytes + p->body_bytes, local = total;
    if (total > LOCAL_MAX) {
        local = LOCAL_MIN + (total - LOCAL_MIN) % OVERFLOW_BYTES;
        if (local > LOCAL_MAX) local = LOCAL_MIN;
    }
    uint32_t overflow = 0;
    if (local < total && !put_overflow(b, p, local, total, &overflow, err)) return false;
    int64_t rowid = t->rowid + 1;
    size_t size = varint_size(total) + varint_size((uint64_t)rowid) + local + (overflow ? 4 : 0);
    if (size < 4) size = 4;
    size_t pointers = t->header + LEAF_HEADER + (size_t)t->cells * 2;
    if (pointers + 2 + size > t->content) {
        if (!end_leaf(b, t, err)) return false;
        pointers = t->header + LEAF_HEADER;
    }
    t->content -= size;
    uint8_t *at = t->page + t->content;
    put16(t->page + pointers - t->header, (unsigned)t->content);
    at += record_varint(at, total);
    at += record_varint(at, (uint64_t)rowid);
    copy_payload(p, 0, local, at);
    if (overflow) put32(at + local, overflow);
    t->cells++;
    t->rowid = rowid;
    return true;
}

static bool put_row(struct bulk *b, struct tree *t, const enum bulk_affinity *affinities, const struct column *columns,
                    int count, int64_t row, struct trace_error *err) {
    struct record *r = &b->record;
    if (!record_encode(r, affinities, columns, count, row)) return no_memory(err);
    if (r->size_bytes + r->type_bytes + r->body_bytes > 1000000000)
        return trace_fail(err, TRACE_NO_SPACE, "%s: a row is longer than a database takes", b->path);
    return put_cell(b, t, r, err);
}

// Tables -------------------------------------------------------------------------------------------------------------

struct bulk *bulk_open(int fd, const char *path) {
    struct bulk *b = calloc(1, sizeof *b);
    if (b) b->out = malloc((size_t)OUT_PAGES * BULK_PAGE);
    if (!b || !b->out) {
        free(b);
        return NULL;
    }
    b->fd = fd;
    b->path = path;
    b->pages = 1; // the schema's root
    return b;
}

static bool open_tree(struct tree *t) {
    t->page = malloc(BULK_PAGE);
    begin_leaf(t);
    return t->page != NULL;
}

static void close_tree(struct tree *t) {
    free(t->page);
    free(t->children);
}

void bulk_close(struct bulk *b) {
    if (!b) return;
    for (int i = 0; i < b->count; i++) {
        close_tree(&b->tables[i].tree);
        free(b->tables[i].name);
        free(b->tables[i].sql);
        free(b->tables[i].affinities);
    }
    free(b->tables);
    free(b->out);
    record_free(&b->record);
    free(b);
}

int bulk_table(struct bulk *b, const char *name, const char *sql, const enum bulk_affinity *affinities, int count) {
    struct table *grown = realloc(b->tables, (size_t)(b->count + 1) * sizeof *grown);
    if (!grown) return -1;
    b->tables = grown;
    struct table *t = &b->tables[b->count];
    *t = (struct table){.name = strdup(name), .sql = strdup(sql), .columns = count,
                        .affinities = malloc((size_t)count * sizeof *affinities)};
    if (!open_tree(&t->tree) || !t->name || !t->sql || !t->affinities) {
        close_tree(&t->tree);
        free(t->name);
        free(t->sql);
        free(t->affinities);
        return -1;
    }
    memcpy(t->affinities, affinities, (size_t)count * sizeof *affinities);
    return b->count++;
}

bool bulk_append(struct bulk *b, int table, const struct column *columns, int64_t rows, struct trace_error *err) {
    struct table *t = &b->tables[table];
    for (int64_t row = 0; row < rows; row++)
        if (!put_row(b, &t->tree, t->affinities, columns, t->columns, row, err)) return false;
    return true;
}

// The first hundred bytes of a database.
static void file_header(uint8_t *p, uint32_t pages) {
    memset(p, 0, FILE_HEADER);
    memcpy(p, "SQLite format 3", 16);
    put16(p + 16, BULK_PAGE);
    p[18] = p[19] = 1; // written and read with a rollback journal
    p[21] = 64, p[22] = 32, p[23] = 32;
    put32(p + 24, 1); // change counter
    put32(p + 28, pages);
    put32(p + 40, 1); // schema cookie
    put32(p + 44, 4); // schema format
    put32(p + 56, 1); // UTF-8
    put32(p + 92, 1); // the change counter for which the number of pages is right
    put32(p + 96, (uint32_t)sqlite3_libversion_number());
}

static struct column constant_text(const char *text, struct column_text *cell) {
    *cell = (struct column_text){text, (uint32_t)strlen(text)};
    return (struct column){.type = COLUMN_TEXT, .constant = true, .count = 1, .data = cell};
}

bool bulk_finish(struct bulk *b, struct trace_error *err) {
    static const enum bulk_affinity affinities[] = {BULK_TEXT, BULK_TEXT, BULK_TEXT, BULK_INTEGER, BULK_TEXT};
    for (int i = 0; i < b->count; i++)
        if (!end_tree(b, &b->tables[i].tree, &b->tables[i].root, err)) return false;
    // Leaves of the schema leave a hundred bytes free, so that a single one fits behind the file's header.
    struct tree schema = {.header = FILE_HEADER};
    uint8_t first[BULK_PAGE];
    bool ok = open_tree(&schema) || no_memory(err);
    for (int i = 0; ok && i < b->count; i++) {
        const struct table *t = &b->tables[i];
        struct column_text cells[4];
        int64_t root = t->root;
        const struct column row[] = {
            constant_text("table", &cells[0]), constant_text(t->name, &cells[1]), constant_text(t->name, &cells[2]),
            {.type = COLUMN_INT64, .constant = true, .count = 1, .data = &root}, constant_text(t->sql, &cells[3]),
        };
        ok = put_row(b, &schema, affinities, row, 5, 0, err);
    }
    if (ok && !schema.count) { // all on page 1
        size_t pointers = (size_t)schema.cells * 2;
        memset(first, 0, BULK_PAGE);
        memcpy(first + schema.content, schema.page + schema.content, BULK_PAGE - schema.content);
        memcpy(first + FILE_HEADER + LEAF_HEADER, schema.page + LEAF_HEADER, pointers);
        head_leaf(first, FILE_HEADER, schema.cells, schema.content);
    } else if (ok) {
        ok = (!schema.cells || end_leaf(b, &schema, err)) && build_levels(b, &schema, FILE_HEADER, err);
        if (ok) make_interior(first, FILE_HEADER, schema.children, schema.count);
    }
    close_tree(&schema);
    if (!ok || !flush(b, err)) return false;
    file_header(first, b->pages);
    return write_at(b, 0, first, BULK_PAGE, err);
}
