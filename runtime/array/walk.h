// SPDX-License-Identifier: MIT
// walk.h: going over one or more strided views of one shape in row-major order, a block of elements at a time. Each
// block is handed out as contiguous rows of the wanted element type: straight from memory where layout and type allow,
// through a buffer otherwise, or as one value with step 0 where the view repeats it. The shape's axes are joined first,
// so the cost does not depend on how a shape is cut. Nothing allocates; a walk (about 50 KiB) lives on the stack.
#ifndef NKILN_ARRAY_WALK_H
#define NKILN_ARRAY_WALK_H

#include "array/array.h"

enum { WALK_BLOCK = 2048, WALK_INPUTS = 3 };

struct walk {
    // Results of walk_next.
    int64_t start; // row-major index of the block's first element
    size_t count;  // at most WALK_BLOCK
    const void *row[WALK_INPUTS];
    size_t step[WALK_INPUTS]; // 1, or 0: the row is one value

    // Inner state.
    int inputs, ndim, axis; // the axis that is cut into chunks; those after it lie whole inside a block
    int64_t shape[ARRAY_MAX_DIMS], index[ARRAY_MAX_DIMS];
    int64_t inner, chunk, position, total;
    struct walk_input {
        const unsigned char *base, *at;
        enum dtype type, want;
        bool dense, constant;
        int64_t strides[ARRAY_MAX_DIMS];
    } in[WALK_INPUTS];
    uint64_t value[WALK_INPUTS];
    uint64_t buffer[WALK_INPUTS][WALK_BLOCK];
};

// Views are given as base, type, strides; walk_add before walk_start. Fewer views than WALK_INPUTS is usual.
void walk_shape(struct walk *w, int ndim, const int64_t *shape);
void walk_add(struct walk *w, const void *base, enum dtype type, const int64_t *strides, enum dtype want);
void walk_start(struct walk *w);
bool walk_next(struct walk *w);

#endif
