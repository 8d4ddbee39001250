// SPDX-License-Identifier: MIT
// unicode_data.h: the tables of unicode_data.c, sorted by their first member except for the fingerprints. Constants
// only.
#ifndef NKILN_PYTHON_UNICODE_DATA_H
#define NKILN_PYTHON_UNICODE_DATA_H

#include <stdint.h>

struct py_code_range {
    uint32_t first, last;
};
struct py_decomposition {
    uint32_t code;
    uint16_t offset, length; // in py_decomposed
};
struct py_composition {
    uint32_t first, second, code;
};
struct py_combining_range {
    uint32_t first, last;
    uint8_t rank; // canonical combining class
};
// Consecutive codes with names; their fingerprints follow one another in py_name_fingerprints. Aliases come last.
struct py_named_run {
    uint32_t code, count;
};

extern const struct py_code_range py_name_start[], py_name_part[], py_not_printable[];
extern const struct py_decomposition py_decompositions[];
extern const uint32_t py_decomposed[];
extern const struct py_composition py_compositions[];
extern const struct py_combining_range py_combining[];
extern const struct py_named_run py_named_runs[];
extern const uint32_t py_name_fingerprints[];
extern const uint32_t py_name_start_count, py_name_part_count, py_not_printable_count, py_decompositions_count,
    py_compositions_count, py_combining_count, py_named_runs_count, py_name_fingerprints_count;

#endif
