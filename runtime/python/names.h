// SPDX-License-Identifier: MIT
// names.h: the intern table of one parse. Keywords are interned first, in the order of `enum py_word`, so a name's id
// tells at once whether it is a keyword. Names live in the arena. Only memory can fail (NULL / false).
#ifndef NKILN_PYTHON_NAMES_H
#define NKILN_PYTHON_NAMES_H

#include <stdbool.h>

#include "python/arena.h"
#include "python/ast.h"

#define PY_KEYWORDS(K)                                                                                                 \
    K(False) K(None) K(True) K(and) K(as) K(assert) K(async) K(await) K(break) K(class) K(continue) K(def) K(del)       \
    K(elif) K(else) K(except) K(finally) K(for) K(from) K(global) K(if) K(import) K(in) K(is) K(lambda) K(nonlocal)     \
    K(not) K(or) K(pass) K(raise) K(return) K(try) K(while) K(with) K(yield)
// Names the parser itself asks about; ordinary names otherwise.
#define PY_SOFT_WORDS(K) K(match) K(case) K(_) K(type) K(print) K(exec) K(__debug__)

enum py_word {
#define K(word) PY_KW_##word,
    PY_KEYWORDS(K) PY_KEYWORD_COUNT,
    PY_KW_before_soft = PY_KEYWORD_COUNT - 1,
    PY_SOFT_WORDS(K) PY_RESERVED_COUNT
#undef K
};

#define PY_HASH_START 2166136261u
#define PY_HASH_STEP(hash, byte) (((hash) ^ (unsigned char)(byte)) * 16777619u)

struct py_names {
    struct py_arena *arena;
    struct py_name **buckets, **by_id;
    uint32_t mask, count, capacity;
};

bool py_names_init(struct py_names *names, struct py_arena *arena);

// The name with these bytes, whose hash the caller has computed with PY_HASH_STEP. `text` must live as long as the
// arena.
struct py_name *py_names_intern(struct py_names *names, const char *text, uint32_t length, uint32_t hash);

#endif
