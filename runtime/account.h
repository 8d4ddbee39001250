// SPDX-License-Identifier: MIT
// account.h: bytes held by arrays and machine memories; a limit of 0 means none. Whoever allocates adds to `used`,
// whoever frees subtracts; nothing here fails.
#ifndef NKILN_ACCOUNT_H
#define NKILN_ACCOUNT_H

#include <stddef.h>

struct account {
    size_t used;
    size_t peak;
    size_t limit;
};

#endif
