// SPDX-License-Identifier: MIT
// sources: runtime/array/npy.c runtime/array/array.c runtime/array/convert.c runtime/array/dtype.c
// sources: runtime/array/kernels_base.c runtime/account.c
//
// npy_fuzz.c: libFuzzer target. Whatever the reader accepts is written again and must read back as the same array; what
// it refuses must carry one line that says why; no byte may stay charged to the account.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "account.h"
#include "array/convert.h"
#include "array/npy.h"

extern const struct kernels kernels_base;
const struct kernels *kernels(void) { return &kernels_base; }

static void check(int good, const char *what) {
    if (good) return;
    fprintf(stderr, "npy_fuzz: %s\n", what);
    abort();
}

static void one(const uint8_t *data, size_t size, enum dtype hint) {
    struct account account = {.limit = 64 << 20};
    struct array_error err = {0};
    struct array a = {0}, b = {0};
    if (!npy_read(&a, &account, data, size, hint, &err)) {
        check(err.status != ARRAY_OK && err.message[0] && !strchr(err.message, '\n'),
              "refused without a line that says why");
        check(account.used == 0, "bytes stay charged after a refusal");
        account_close(&account);
        return;
    }
    char header[NPY_HEADER_MAX];
    size_t head = npy_header(header, &a), bytes = (size_t)a.size * dtype_size(a.dtype);
    char *file = malloc(head + bytes + 1);
    int64_t strides[ARRAY_MAX_DIMS];
    memcpy(file, header, head);
    array_strides_of(a.dtype, a.ndim, a.shape, strides);
    if (a.size) convert_nd(a.ndim, a.shape, a.dtype, file + head, strides, a.dtype, array_data(&a), a.strides);
    check(npy_read(&b, &account, file, head + bytes, a.dtype, &err), "our own file is refused");
    check(a.dtype == DTYPE_TFLOAT32 || array_bits_equal(&a, &b), "our own file reads differently");
    free(file);
    array_close(&a);
    array_close(&b);
    check(account.used == 0, "bytes stay charged after closing");
    account_close(&account);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    one(data, size, DTYPE_COUNT);
    one(data, size, DTYPE_FLOAT8_E5M2);
    return 0;
}
