// SPDX-License-Identifier: MIT
// arena.h: the memory of one parse. Everything a parse allocates (tree, names, decoded strings, the token window) is
// carved from here and goes away together in `py_arena_free`; nothing is freed alone, except blocks taken with
// `py_block_resize`. The parse that filled the arena owns it. An allocation fails by returning NULL: when malloc fails,
// or when `used` would pass `limit`. No other failure exists, and nothing here touches Lua.
#ifndef NKILN_PYTHON_ARENA_H
#define NKILN_PYTHON_ARENA_H

#include <stddef.h>
#include <stdint.h>

struct py_arena_chunk;

struct py_arena {
    struct py_arena_chunk *chunks; // newest first
    char *next, *end;              // free part of the newest chunk
    size_t used;                   // bytes taken from malloc, blocks included
    size_t limit;                  // 0 = none
};

// `size` bytes aligned to 8, or NULL. The bytes are not cleared.
void *py_arena_more(struct py_arena *arena, size_t size);

static inline void *py_arena_alloc(struct py_arena *arena, size_t size) {
    size = (size + 7) & ~(size_t)7;
    if (size > (size_t)(arena->end - arena->next)) return py_arena_more(arena, size);
    void *block = arena->next;
    arena->next += size;
    return block;
}

// Resize a malloc block that is charged to the arena: (NULL, 0, n) makes one, (block, n, 0) frees it and returns NULL.
// On failure returns NULL and leaves `block` as it was.
void *py_block_resize(struct py_arena *arena, void *block, size_t old_size, size_t new_size);

void py_arena_free(struct py_arena *arena);

#endif
