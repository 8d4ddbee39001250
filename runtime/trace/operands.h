// SPDX-License-Identifier: MIT
// operands.h: what the operands of a Tensor engine instruction say, as neuron-explorer prints them.
//
// A sequence of words separated by blanks, in any order:
//   NAME=VALUE           acc_flags=3, row_grp=q0, psum_zero=1; src=, dst= and moving=/stationary= hold an access
//   access               [DTYPE@]ADDRESS[strides][counts], both lists of integers separated by commas
//   A*B                  the rows and columns of the array that are used: K*M
// and semaphore conditions, which are passed over. The order K*M is read off the example in the profiler's guide,
// "acc_flags=3 row_grp=q0 src=fp16@0x5600[1,0,0][3,1,1] dst=0x2000000[1,0,0][3,1,1] 3*128": one group of 32 rows (q0) holds
// K = 3 and could not hold K = 128. The format is not a promise of the tool: what does not parse gives no numbers.
#ifndef NKILN_TRACE_OPERANDS_H
#define NKILN_TRACE_OPERANDS_H

#include <stdbool.h>
#include <stdint.h>

struct operands {
    int64_t k, m, n; // 0: not said. n is the product of src's counts.
    char dtype[24];  // of src, "" when not said
};

// False when there is neither a K*M pair nor a src access.
bool operands_parse(const char *text, struct operands *out);

#endif
