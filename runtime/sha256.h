// SPDX-License-Identifier: MIT
// sha256.h: SHA-256 (FIPS 180-4), for content addresses and signatures. Plain C, nothing can fail, nothing is owned.
#ifndef NKILN_SHA256_H
#define NKILN_SHA256_H

#include <stddef.h>
#include <stdint.h>

struct sha256 {
    uint32_t state[8];
    uint64_t length; // bytes taken so far
    unsigned char block[64];
};

void sha256_init(struct sha256 *h);
void sha256_update(struct sha256 *h, const void *bytes, size_t size);
void sha256_final(struct sha256 *h, unsigned char digest[32]);
void sha256_hex(const unsigned char digest[32], char text[65]);

#endif
