// SPDX-License-Identifier: MIT
#include "array/walk.h"

#include <string.h>

#include "array/convert.h"

enum { SHORT_ROW = 64 }; // rows shorter than this are put several to a block

void walk_shape(struct walk *w, int ndim, const int64_t *shape) {
    w->inputs = 0;
    w->ndim = ndim;
    memcpy(w->shape, shape, (size_t)ndim * sizeof *shape);
}

void walk_add(struct walk *w, const void *base, enum dtype type, const int64_t *strides, enum dtype want) {
    struct walk_input *in = &w->in[w->inputs++];
    in->base = base;
    in->type = type;
    // A tfloat32 is a float32 in memory.
    in->want = want;
    if (type == DTYPE_TFLOAT32 && want == DTYPE_FLOAT32) in->type = DTYPE_FLOAT32;
    for (int i = 0; i < w->ndim; i++) in->strides[i] = strides[i];
}

static void join_axes(struct walk *w) {
    int dims = 0;
    for (int i = 0; i < w->ndim; i++) {
        if (w->shape[i] == 1) continue;
        bool joins = dims > 0;
        for (int k = 0; joins && k < w->inputs; k++)
            joins = w->in[k].strides[dims - 1] == w->in[k].strides[i] * w->shape[i];
        int to = joins ? dims - 1 : dims++;
        w->shape[to] = joins ? w->shape[to] * w->shape[i] : w->shape[i];
        for (int k = 0; k < w->inputs; k++) w->in[k].strides[to] = w->in[k].strides[i];
    }
    if (dims == 0) {
        w->shape[0] = 1;
        for (int k = 0; k < w->inputs; k++) w->in[k].strides[0] = 0;
        dims = 1;
    }
    w->ndim = dims;
}

void walk_start(struct walk *w) {
    w->total = 1;
    for (int i = 0; i < w->ndim; i++) w->total *= w->shape[i];
    w->start = 0;
    w->count = 0;
    w->position = 0;
    memset(w->index, 0, sizeof w->index);
    if (w->total == 0) return;
    join_axes(w);
    w->axis = w->ndim - 1;
    w->inner = 1;
    if (w->shape[w->axis] < SHORT_ROW)
        while (w->axis > 0 && w->inner * w->shape[w->axis] * 2 <= WALK_BLOCK) w->inner *= w->shape[w->axis--];
    w->chunk = WALK_BLOCK / w->inner;
    for (int k = 0; k < w->inputs; k++) {
        struct walk_input *in = &w->in[k];
        in->at = in->base;
        in->dense = in->constant = true;
        int64_t stride = (int64_t)dtype_size(in->type);
        for (int i = w->ndim - 1; i >= w->axis; i--) {
            in->dense &= in->strides[i] == stride;
            in->constant &= in->strides[i] == 0;
            stride *= w->shape[i];
        }
    }
}

static void fetch(struct walk *w, int k, int64_t rows) {
    struct walk_input *in = &w->in[k];
    const unsigned char *at = in->at + w->position * in->strides[w->axis];
    w->step[k] = 1;
    if (in->constant) {
        convert_row(1, in->want, &w->value[k], 0, in->type, at, 0);
        w->row[k] = &w->value[k];
        w->step[k] = 0;
    } else if (in->dense && in->type == in->want) {
        w->row[k] = at;
    } else if (in->dense) {
        convert_row(w->count, in->want, w->buffer[k], (ptrdiff_t)dtype_size(in->want), in->type, at,
                    (ptrdiff_t)dtype_size(in->type));
        w->row[k] = w->buffer[k];
    } else if (w->axis == w->ndim - 1) {
        convert_row(w->count, in->want, w->buffer[k], (ptrdiff_t)dtype_size(in->want), in->type, at,
                    in->strides[w->axis]);
        w->row[k] = w->buffer[k];
    } else {
        int64_t shape[ARRAY_MAX_DIMS], dense[ARRAY_MAX_DIMS];
        int dims = w->ndim - w->axis;
        memcpy(shape, w->shape + w->axis, (size_t)dims * sizeof *shape);
        shape[0] = rows;
        array_strides_of(in->want, dims, shape, dense);
        convert_nd(dims, shape, in->want, w->buffer[k], dense, in->type, at, in->strides + w->axis);
        w->row[k] = w->buffer[k];
    }
}

bool walk_next(struct walk *w) {
    w->start += (int64_t)w->count;
    if (w->start >= w->total) return false;
    if (w->position == w->shape[w->axis]) {
        w->position = 0;
        for (int axis = w->axis - 1; axis >= 0; axis--) {
            for (int k = 0; k < w->inputs; k++) w->in[k].at += w->in[k].strides[axis];
            if (++w->index[axis] < w->shape[axis]) break;
            for (int k = 0; k < w->inputs; k++) w->in[k].at -= w->in[k].strides[axis] * w->shape[axis];
            w->index[axis] = 0;
        }
    }
    int64_t rows = w->shape[w->axis] - w->position;
    if (rows > w->chunk) rows = w->chunk;
    w->count = (size_t)(rows * w->inner);
    for (int k = 0; k < w->inputs; k++) fetch(w, k, rows);
    w->position += rows;
    return true;
}
