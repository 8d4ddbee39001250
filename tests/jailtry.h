// SPDX-License-Identifier: MIT
// jailtry.h: see jailtry.c.
#ifndef NKILN_TESTS_JAILTRY_H
#define NKILN_TESTS_JAILTRY_H

int jail_try(const char *read_root, const char *write_root, const char *outside);

#endif
