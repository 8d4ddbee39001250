// SPDX-License-Identifier: MIT
// view.h: tensors as kernels see them: a shape and strides over a storage.
//
// A view is a value and owns nothing. Strides and offset count elements of the view's own type. On chip, dimension 0 is
// the partition dimension: `part` is its first partition, stride[0] is 1 (0: one partition repeated), and offset and
// the other strides stay inside a partition. In HBM there is no partition and `part` is 0. Every function that can
// refuse returns false and fills the error (index out of range, partition dimension touched, layout that cannot be
// reshaped ...), following the text of NkiTensor in nki.language.
#ifndef NKILN_NKI_VIEW_H
#define NKILN_NKI_VIEW_H

#include "nki/memory.h"

struct nki_error;

enum nki_indirect { NKI_DIRECT, NKI_SCALAR_OFFSET, NKI_VECTOR_OFFSET };

struct nki_view {
    struct nki_storage *st;
    int dtype;
    uint8_t ndim;
    uint8_t indirect;     // enum nki_indirect
    uint8_t indirect_dim; // dimension of this view that the vector selects (0), for NKI_VECTOR_OFFSET
    bool repeats;         // some stride is 0 over more than one element
    int32_t part;
    int64_t offset;
    int64_t shape[NKI_MAX_DIMS];
    int64_t stride[NKI_MAX_DIMS];
    int64_t indirect_step; // elements per unit of the run-time index
    int64_t indirect_size; // valid indices are 0 .. indirect_size - 1
    // The index: a register's value (index_st NULL) or an SBUF tensor of one element per partition.
    struct nki_storage *index_st;
    int index_dtype;
    int32_t index_part;
    int64_t index_offset, index_count, index_cols, index_col_stride;
    int64_t index_value;
};

// One entry of a subscript.
struct nki_index {
    enum { NKI_INDEX_INT, NKI_INDEX_SLICE, NKI_INDEX_ELLIPSIS, NKI_INDEX_RANGE } kind;
    int64_t start, stop, step; // INT: start; RANGE (nl.ds): start, stop - start = size
    bool has_start, has_stop;
};

void nki_view_of(struct nki_view *view, struct nki_storage *st); // the whole storage
int64_t nki_view_size(const struct nki_view *v);
int64_t nki_view_free_size(const struct nki_view *v); // elements per partition
// Elements of this view's type in one partition of the storage (HBM: in all of it).
int64_t nki_view_row(const struct nki_view *v);
bool nki_view_contiguous(const struct nki_view *v);

bool nki_view_index(struct nki_view *out, const struct nki_view *v, const struct nki_index *items, int count,
                    struct nki_error *err);
bool nki_view_slice(struct nki_view *out, const struct nki_view *v, int dim, int64_t start, int64_t stop, int64_t step,
                    struct nki_error *err);
bool nki_view_select(struct nki_view *out, const struct nki_view *v, int dim, int64_t index, struct nki_error *err);
bool nki_view_permute(struct nki_view *out, const struct nki_view *v, const int64_t *dims, int count,
                      struct nki_error *err);
bool nki_view_broadcast(struct nki_view *out, const struct nki_view *v, int dim, int64_t size, struct nki_error *err);
bool nki_view_broadcast_to(struct nki_view *out, const struct nki_view *v, const int64_t *shape, int count,
                           struct nki_error *err);
bool nki_view_expand(struct nki_view *out, const struct nki_view *v, int dim, struct nki_error *err);
bool nki_view_squeeze(struct nki_view *out, const struct nki_view *v, int dim, struct nki_error *err);
bool nki_view_split(struct nki_view *out, const struct nki_view *v, int dim, const int64_t *shape, int count,
                    struct nki_error *err);
bool nki_view_flatten(struct nki_view *out, const struct nki_view *v, int first, int last, struct nki_error *err);
bool nki_view_reshape(struct nki_view *out, const struct nki_view *v, const int64_t *shape, int count,
                      struct nki_error *err);
bool nki_view_bits(struct nki_view *out, const struct nki_view *v, int dtype, struct nki_error *err);

// .ap(): pattern of (stride, count) pairs over the storage. has_offset: add `offset` to the view's own offset.
bool nki_view_pattern(struct nki_view *out, const struct nki_view *v, const int64_t (*pattern)[2], int count,
                      bool has_offset, int64_t offset, int dtype, struct nki_error *err);
// Make `out`, a pattern over base's storage, indirect: each unit of the index steps along dimension `dim` of base. The
// index is an SBUF view, or NULL with `value` from a register.
bool nki_view_indirect(struct nki_view *out, const struct nki_view *base, bool vector, int dim,
                       const struct nki_view *index, int64_t value, struct nki_error *err);
// Whether every element lies inside the storage (strides and offset only; no run-time index).
bool nki_view_inside(const struct nki_view *v);
// Refuses a view of more elements than any memory holds, so that sizes never overflow.
bool nki_view_countable(const struct nki_view *v, struct nki_error *err);
// Fix a scalar-indirect view at a run-time index; false with out-of-bounds when it leaves the tensor.
bool nki_view_resolve(struct nki_view *out, const struct nki_view *v, int64_t value, struct nki_error *err);

// (stride, count) pairs in elements of the storage as .ap takes them; returns ndim.
int nki_view_get_pattern(const struct nki_view *v, int64_t (*pattern)[2]);
int64_t nki_view_flat_offset(const struct nki_view *v);

// Free dimensions merged where they are contiguous, unit ones dropped: the access pattern an instruction needs.
struct nki_pattern {
    int n;
    int64_t count[NKI_MAX_DIMS], stride[NKI_MAX_DIMS];
};
void nki_view_merge(const struct nki_view *v, struct nki_pattern *p); // HBM: all dimensions
// The rectangle of the storage's area a view covers exactly; false when it is none.
bool nki_view_box(const struct nki_view *v, struct nki_box *box);
// The smallest rectangle around it.
void nki_view_bounds(const struct nki_view *v, struct nki_box *box);
// Add to, remove from or test an area, element by element where the view is no rectangle.
enum nki_area_action { NKI_AREA_ADD, NKI_AREA_REMOVE, NKI_AREA_ALL, NKI_AREA_ANY };
bool nki_view_area(const struct nki_view *v, struct nki_area *area, enum nki_area_action action);

// "[128,512]" into 96 bytes.
char *nki_view_shape_text(char *buffer, const struct nki_view *v);
char *nki_shape_text(char *buffer, const int64_t *shape, int ndim);

#endif
