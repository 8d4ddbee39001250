// SPDX-License-Identifier: MIT
// neff.h: the header of a NEFF (a compiled kernel) and the list of what is in it.
//
// 1024 bytes, little-endian, then a tar archive, normally gzipped. Source: neuron-runtime/explore/work-with-neff-files of
// the AWS Neuron SDK documentation. There is no magic number: the fields must agree with each other and with the size.
// Who owns what: neff_free releases the list. What can fail: the file, and what is no NEFF.
#ifndef NKILN_TRACE_NEFF_H
#define NKILN_TRACE_NEFF_H

#include "trace/trace.h"

struct neff_member {
    char *name;
    int64_t size; // bytes
};

struct neff {
    uint64_t package_version; // 1: gzipped tar with sha256, 2: with md5
    uint64_t data_size, major, minor, feature_bits;
    char build[129], name[257];
    uint32_t cores, lnc; // NeuronCores; physical cores per logical one
    uint8_t hash[32], uuid[16];
    struct neff_member *members;
    int count;
    bool gzipped;
};

enum { NEFF_HEADER = 1024, NEFF_MEMBERS_MAX = 100000 };

// `list`: also read the archive's list.
bool neff_read(struct neff *out, const char *path, bool list, const struct trace_watch *watch, struct trace_error *err);
void neff_free(struct neff *n);

#endif
