// SPDX-License-Identifier: MIT
// npy.h: NumPy's .npy files (format versions 1 to 3; numpy.lib.format in the NumPy manual).
//
// Element types NumPy lacks are stored as NumPy with the ml_dtypes package stores them: bfloat16 as '<V2', float8 as
// '|V1'. Plain NumPy loads those as void arrays, `.view(numpy.uint16)` (or uint8) gives the bits. tfloat32 is
// written as '<f4'. Reading takes '<V2' for bfloat16; '|V1' needs the caller to say which float8 is meant; a caller may
// also name a type for an unsigned integer array of the same width, whose bits are then taken as they are. Big-endian
// and Fortran-order files are converted; uint64 becomes int64 if every value fits. Objects, records, strings, complex
// numbers, times, and anything truncated or malformed fail with ARRAY_BAD_DATA and one line.
#ifndef NKILN_ARRAY_NPY_H
#define NKILN_ARRAY_NPY_H

#include "array/array.h"

// hint: DTYPE_COUNT for none.
bool npy_read(struct array *out, struct account *account, const void *bytes, size_t length, enum dtype hint,
              struct array_error *err);

// The header of a file that holds a (row-major elements follow); returns its length. buffer holds NPY_HEADER_MAX bytes.
enum { NPY_HEADER_MAX = 512 };
size_t npy_header(char *buffer, const struct array *a);

#endif
