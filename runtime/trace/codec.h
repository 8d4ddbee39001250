// SPDX-License-Identifier: MIT
// codec.h: decompression by libraries of the distribution, loaded when first needed.
//
// Nothing is linked: a library that is missing costs only the files that use it, and the failure names its package.
// The loaded libraries are a property of the process.
#ifndef NKILN_TRACE_CODEC_H
#define NKILN_TRACE_CODEC_H

#include "trace/trace.h"

// Numbers of Parquet's CompressionCodec.
enum codec {
    CODEC_NONE = 0,
    CODEC_SNAPPY = 1,
    CODEC_GZIP = 2,
    CODEC_LZO = 3, // not supported
    CODEC_BROTLI = 4,
    CODEC_LZ4 = 5, // blocks behind two big-endian lengths, as Hadoop writes them, or one plain block
    CODEC_ZSTD = 6,
    CODEC_LZ4_RAW = 7,
};

const char *codec_name(int codec); // "zstd"; "codec 9" is given as "an unknown codec"

// Load what `codec` needs; TRACE_MISSING names the package, TRACE_UNSUPPORTED an unknown codec.
bool codec_load(int codec, struct trace_error *err);

// Decompress exactly `out_size` bytes. On failure returns why (a static text), NULL on success. codec_load came before.
// CODEC_NONE is not for here.
const char *codec_decompress(int codec, const void *in, size_t in_size, void *out, size_t out_size);

// A gzip or zlib stream read piece by piece.
struct codec_stream;
bool codec_stream_open(struct codec_stream **out, struct trace_error *err);
// Consumes from *in and writes to `out`; *done at the end of the stream. Returns why it failed, or NULL.
const char *codec_stream_read(struct codec_stream *s, const uint8_t **in, size_t *in_size, uint8_t *out,
                              size_t out_size, size_t *produced, bool *done);
void codec_stream_close(struct codec_stream *s); // NULL is fine

// CRC-32 as gzip and Parquet use it, continued from `crc` (0 to begin).
uint32_t codec_crc32(uint32_t crc, const void *bytes, size_t size);

#endif
