// SPDX-License-Identifier: MIT
// patterns.h: what CPython's compiler refuses in the patterns of a match statement. Fails through the failure's jump.
#ifndef NKILN_PYTHON_PATTERNS_H
#define NKILN_PYTHON_PATTERNS_H

#include "python/checks.h"

// `irrefutable_allowed`: a pattern that always matches may stand here, because nothing after it becomes unreachable.
void py_check_pattern(struct py_checker *c, const struct py_node *pattern, bool irrefutable_allowed);

#endif
