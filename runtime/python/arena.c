// SPDX-License-Identifier: MIT
#include "python/arena.h"

#include <stdlib.h>

struct py_arena_chunk {
    struct py_arena_chunk *older;
    size_t size;
    char bytes[];
};

// A first chunk that suits a small file; later ones grow with the parse, so that slack stays below a third of the
// whole.
enum { FIRST_CHUNK = 16 * 1024, LARGEST_CHUNK = 4 * 1024 * 1024 };

void *py_arena_more(struct py_arena *arena, size_t size) {
    if (size > SIZE_MAX / 4) return NULL;
    size_t want = arena->used / 4;
    if (want < FIRST_CHUNK) want = FIRST_CHUNK;
    if (want > LARGEST_CHUNK) want = LARGEST_CHUNK;
    want = (want + 7) & ~(size_t)7;
    if (want < size) want = size;
    size_t total = sizeof(struct py_arena_chunk) + want;
    if (arena->limit && (arena->used > arena->limit || total > arena->limit - arena->used)) return NULL;
    struct py_arena_chunk *chunk = malloc(total);
    if (!chunk) return NULL;
    chunk->older = arena->chunks;
    chunk->size = total;
    arena->chunks = chunk;
    arena->used += total;
    // A block larger than a usual chunk fills its own; keep whichever of the two has more room left.
    if (want - size >= (size_t)(arena->end - arena->next)) {
        arena->next = chunk->bytes + size;
        arena->end = chunk->bytes + want;
    }
    return chunk->bytes;
}

void *py_block_resize(struct py_arena *arena, void *block, size_t old_size, size_t new_size) {
    if (new_size == 0) {
        free(block);
        arena->used -= old_size;
        return NULL;
    }
    if (new_size > old_size && arena->limit) {
        size_t extra = new_size - old_size;
        if (arena->used > arena->limit || extra > arena->limit - arena->used) return NULL;
    }
    void *grown = realloc(block, new_size);
    if (!grown) return NULL;
    arena->used = arena->used - old_size + new_size;
    return grown;
}

void py_arena_free(struct py_arena *arena) {
    while (arena->chunks) {
        struct py_arena_chunk *chunk = arena->chunks;
        arena->chunks = chunk->older;
        arena->used -= chunk->size;
        free(chunk);
    }
    arena->next = arena->end = NULL;
}
