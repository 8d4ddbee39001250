// SPDX-License-Identifier: MIT
#include "python/names.h"

#include <string.h>

enum { FIRST_BUCKETS = 512 };

bool py_names_init(struct py_names *names, struct py_arena *arena) {
    static const char *const words[] = {
#define K(word) #word,
        PY_KEYWORDS(K) PY_SOFT_WORDS(K)
#undef K
    };
    *names = (struct py_names){.arena = arena, .mask = FIRST_BUCKETS - 1, .capacity = FIRST_BUCKETS};
    names->buckets = py_arena_alloc(arena, FIRST_BUCKETS * sizeof *names->buckets);
    names->by_id = py_arena_alloc(arena, FIRST_BUCKETS * sizeof *names->by_id);
    if (!names->buckets || !names->by_id) return false;
    memset(names->buckets, 0, FIRST_BUCKETS * sizeof *names->buckets);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        uint32_t hash = PY_HASH_START;
        for (const char *c = words[i]; *c; c++) hash = PY_HASH_STEP(hash, *c);
        if (!py_names_intern(names, words[i], (uint32_t)strlen(words[i]), hash)) return false;
    }
    return true;
}

// Double the table. The old arrays stay in the arena: together no larger than the new ones.
static bool grow(struct py_names *names) {
    uint32_t size = names->capacity * 2;
    struct py_name **buckets = py_arena_alloc(names->arena, size * sizeof *buckets);
    struct py_name **by_id = py_arena_alloc(names->arena, size * sizeof *by_id);
    if (!buckets || !by_id) return false;
    memset(buckets, 0, size * sizeof *buckets);
    memcpy(by_id, names->by_id, names->count * sizeof *by_id);
    for (uint32_t i = 0; i < names->count; i++) {
        struct py_name **bucket = &buckets[by_id[i]->hash & (size - 1)];
        by_id[i]->next = *bucket;
        *bucket = by_id[i];
    }
    names->buckets = buckets;
    names->by_id = by_id;
    names->mask = size - 1;
    names->capacity = size;
    return true;
}

struct py_name *py_names_intern(struct py_names *names, const char *text, uint32_t length, uint32_t hash) {
    hash ^= hash >> 15; // FNV's low bits alone spread badly
    for (struct py_name *name = names->buckets[hash & names->mask]; name; name = name->next) {
        if (name->hash == hash && name->length == length && memcmp(name->text, text, length) == 0) return name;
    }
    if (names->count == names->capacity && !grow(names)) return NULL;
    struct py_name *name = py_arena_alloc(names->arena, sizeof *name);
    if (!name) return NULL;
    *name = (struct py_name){.id = names->count, .length = length, .hash = hash, .text = text};
    struct py_name **bucket = &names->buckets[hash & names->mask];
    name->next = *bucket;
    *bucket = name;
    names->by_id[names->count++] = name;
    return name;
}
