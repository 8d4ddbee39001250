// SPDX-License-Identifier: MIT
// Operands of a Tensor instruction, as a profile holds them: any text gives numbers within their ranges, or none.
// sources: runtime/trace/operands.c
#include <stdlib.h>
#include <string.h>

#include "trace/operands.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *text = malloc(size + 1);
    if (!text) return 0;
    memcpy(text, data, size);
    text[size] = 0;
    struct operands o;
    operands_parse(text, &o);
    const int64_t most = INT64_C(1) << 31;
    if (o.k < 0 || o.k > most || o.m < 0 || o.m > most || o.n < 0 || o.n > most || strlen(o.dtype) >= sizeof o.dtype) abort();
    free(text);
    return 0;
}
