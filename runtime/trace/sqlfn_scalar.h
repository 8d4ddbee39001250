// SPDX-License-Identifier: MIT
// sqlfn_scalar.h: the scalar half of sqlfn.h.
#ifndef NKILN_TRACE_SQLFN_SCALAR_H
#define NKILN_TRACE_SQLFN_SCALAR_H

#include <sqlite3.h>

int sqlfn_register_scalars(sqlite3 *db);

#endif
