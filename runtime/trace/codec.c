// SPDX-License-Identifier: MIT
#include "trace/codec.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

// zlib's stream, whose layout is part of its stable interface (zlib.h).
struct z_stream {
    const uint8_t *next_in;
    unsigned avail_in;
    unsigned long total_in;
    uint8_t *next_out;
    unsigned avail_out;
    unsigned long total_out;
    const char *msg;
    void *state;
    void *(*zalloc)(void *, unsigned, unsigned);
    void (*zfree)(void *, void *);
    void *opaque;
    int data_type;
    unsigned long adler, reserved;
};

enum { Z_OK = 0, Z_STREAM_END = 1, Z_BUF_ERROR = -5, ANY_HEADER = 15 + 32 }; // gzip or zlib, told from the header

static struct {
    bool tried[8];
    int (*snappy_uncompress)(const char *in, size_t in_size, char *out, size_t *out_size);
    int (*lz4_decompress)(const char *in, char *out, int in_size, int out_size);
    int (*brotli_decompress)(size_t in_size, const uint8_t *in, size_t *out_size, uint8_t *out);
    size_t (*zstd_decompress)(void *out, size_t out_size, const void *in, size_t in_size);
    unsigned (*zstd_is_error)(size_t code);
    int (*inflate_init)(struct z_stream *, int bits, const char *version, int size);
    int (*inflate)(struct z_stream *, int flush);
    int (*inflate_end)(struct z_stream *);
    const char *(*zlib_version)(void);
} lib;

const char *codec_name(int codec) {
    static const char *const names[] = {"none", "snappy", "gzip", "lzo", "brotli", "lz4", "zstd", "lz4_raw"};
    return codec >= 0 && codec <= CODEC_LZ4_RAW ? names[codec] : "an unknown codec";
}

// Load `file` and look up pairs of (name, place), ended by NULL. All or nothing.
static bool load(const char *file, const char *const *names, void *const *places) {
    void *handle = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (!handle) return false;
    void *found[6];
    for (int i = 0; names[i]; i++)
        if (!(found[i] = dlsym(handle, names[i]))) {
            dlclose(handle);
            return false;
        }
    for (int i = 0; names[i]; i++) memcpy(places[i], &found[i], sizeof(void *));
    return true;
}

#define LOAD(file, names, ...) load(file, (const char *const[]){names, NULL}, (void *const[]){__VA_ARGS__})
#define NAMES(...) __VA_ARGS__

static void load_library(int codec) {
    switch (codec) {
    case CODEC_SNAPPY: LOAD("libsnappy.so.1", "snappy_uncompress", &lib.snappy_uncompress); break;
    case CODEC_LZ4:
    case CODEC_LZ4_RAW: LOAD("liblz4.so.1", "LZ4_decompress_safe", &lib.lz4_decompress); break;
    case CODEC_BROTLI: LOAD("libbrotlidec.so.1", "BrotliDecoderDecompress", &lib.brotli_decompress); break;
    case CODEC_ZSTD:
        LOAD("libzstd.so.1", NAMES("ZSTD_decompress", "ZSTD_isError"), &lib.zstd_decompress, &lib.zstd_is_error);
        break;
    case CODEC_GZIP:
        LOAD("libz.so.1", NAMES("inflateInit2_", "inflate", "inflateEnd", "zlibVersion"), &lib.inflate_init,
             &lib.inflate, &lib.inflate_end, &lib.zlib_version);
        break;
    }
}

static bool is_loaded(int codec) {
    switch (codec) {
    case CODEC_NONE: return true;
    case CODEC_SNAPPY: return lib.snappy_uncompress;
    case CODEC_LZ4:
    case CODEC_LZ4_RAW: return lib.lz4_decompress;
    case CODEC_BROTLI: return lib.brotli_decompress;
    case CODEC_ZSTD: return lib.zstd_decompress;
    case CODEC_GZIP: return lib.inflate_init;
    }
    return false;
}

bool codec_load(int codec, struct trace_error *err) {
    static const struct {
        const char *library, *apt, *dnf;
    } packages[] = {
        [CODEC_SNAPPY] = {"libsnappy", "libsnappy1v5", "snappy"}, [CODEC_GZIP] = {"zlib", "zlib1g", "zlib"},
        [CODEC_BROTLI] = {"libbrotli", "libbrotli1", "libbrotli"}, [CODEC_LZ4] = {"liblz4", "liblz4-1", "lz4-libs"},
        [CODEC_ZSTD] = {"libzstd", "libzstd1", "libzstd"},         [CODEC_LZ4_RAW] = {"liblz4", "liblz4-1", "lz4-libs"},
    };
    if (codec < 0 || codec > CODEC_LZ4_RAW || codec == CODEC_LZO)
        return trace_fail(err, TRACE_UNSUPPORTED, "compressed by %s (number %d), which is not supported",
                          codec_name(codec), codec);
    if (!lib.tried[codec]) {
        lib.tried[codec] = true;
        const char *without = getenv("NKILN_WITHOUT"); // for tests: codecs to do without
        if (!without || !strstr(without, codec_name(codec))) load_library(codec);
    }
    if (is_loaded(codec)) return true;
    return trace_fail(err, TRACE_MISSING, "compressed by %s, which needs %s: install it with apt-get install %s, or dnf install %s",
                      codec_name(codec), packages[codec].library, packages[codec].apt, packages[codec].dnf);
}

static int inflate_begin(struct z_stream *z) {
    memset(z, 0, sizeof *z);
    return lib.inflate_init(z, ANY_HEADER, lib.zlib_version(), (int)sizeof *z);
}

static const char *gunzip(const uint8_t *in, size_t in_size, uint8_t *out, size_t out_size) {
    struct z_stream z;
    if (inflate_begin(&z) != Z_OK) return "out of memory";
    int result = Z_OK;
    size_t written = 0;
    const char *why = NULL;
    while (!why && result != Z_STREAM_END) {
        size_t take = in_size > INT_MAX ? INT_MAX : in_size, room = out_size - written;
        if (room > INT_MAX) room = INT_MAX;
        uint8_t spare; // room is 0 when all is written but the end of the stream has not been read
        z.next_in = in, z.avail_in = (unsigned)take;
        z.next_out = room ? out + written : &spare, z.avail_out = room ? (unsigned)room : 1;
        result = lib.inflate(&z, 0);
        size_t used = take - z.avail_in, got = (room ? room : 1) - z.avail_out;
        in += used, in_size -= used;
        if (!room && got) why = "it holds more than its header says";
        else written += got;
        if (result != Z_OK && result != Z_STREAM_END) why = "its gzip data is damaged or cut off";
        if (result == Z_STREAM_END && in_size && written < out_size) { // several members in a row are allowed
            lib.inflate_end(&z);
            if (inflate_begin(&z) != Z_OK) return "out of memory";
            result = Z_OK;
        }
    }
    lib.inflate_end(&z);
    return why ? why : written != out_size ? "it holds less than its header says" : NULL;
}

static uint32_t big32(const uint8_t *p) {
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static bool lz4_block(const uint8_t *in, size_t in_size, uint8_t *out, size_t out_size) {
    if (in_size > INT_MAX || out_size > INT_MAX) return false;
    return lib.lz4_decompress((const char *)in, (char *)out, (int)in_size, (int)out_size) == (int)out_size;
}

// Hadoop's form: (size, compressed size, block) again and again.
static bool lz4_hadoop(const uint8_t *in, size_t in_size, uint8_t *out, size_t out_size) {
    size_t written = 0;
    while (in_size >= 8) {
        uint32_t size = big32(in), packed = big32(in + 4);
        if (packed > in_size - 8 || size > out_size - written) return false;
        if (!lz4_block(in + 8, packed, out + written, size)) return false;
        in += 8 + packed, in_size -= 8 + packed;
        written += size;
    }
    return !in_size && written == out_size;
}

const char *codec_decompress(int codec, const void *in, size_t in_size, void *out, size_t out_size) {
    size_t size = out_size;
    switch (codec) {
    case CODEC_SNAPPY:
        if (lib.snappy_uncompress(in, in_size, out, &size) != 0) return "its snappy data is damaged";
        break;
    case CODEC_GZIP: return gunzip(in, in_size, out, out_size);
    case CODEC_BROTLI:
        if (lib.brotli_decompress(in_size, in, &size, out) != 1) return "its brotli data is damaged";
        break;
    case CODEC_ZSTD:
        size = lib.zstd_decompress(out, out_size, in, in_size);
        if (lib.zstd_is_error(size)) return "its zstd data is damaged";
        break;
    case CODEC_LZ4:
        if (lz4_hadoop(in, in_size, out, out_size)) return NULL; // fall through
    case CODEC_LZ4_RAW: return lz4_block(in, in_size, out, out_size) ? NULL : "its lz4 data is damaged";
    default: return "its codec is unknown";
    }
    return size == out_size ? NULL : "it holds less than its header says";
}

// Streams ------------------------------------------------------------------------------------------------------------

struct codec_stream {
    struct z_stream z;
};

bool codec_stream_open(struct codec_stream **out, struct trace_error *err) {
    *out = NULL;
    if (!codec_load(CODEC_GZIP, err)) return false;
    struct codec_stream *s = calloc(1, sizeof *s);
    if (!s || inflate_begin(&s->z) != Z_OK) {
        free(s);
        return trace_fail(err, TRACE_NO_MEMORY, "out of memory");
    }
    *out = s;
    return true;
}

const char *codec_stream_read(struct codec_stream *s, const uint8_t **in, size_t *in_size, uint8_t *out,
                              size_t out_size, size_t *produced, bool *done) {
    s->z.next_in = *in, s->z.avail_in = *in_size > INT_MAX ? INT_MAX : (unsigned)*in_size;
    s->z.next_out = out, s->z.avail_out = out_size > INT_MAX ? INT_MAX : (unsigned)out_size;
    size_t before_in = s->z.avail_in, before_out = s->z.avail_out;
    int result = lib.inflate(&s->z, 0);
    *in += before_in - s->z.avail_in, *in_size -= before_in - s->z.avail_in;
    *produced = before_out - s->z.avail_out;
    *done = result == Z_STREAM_END;
    return result == Z_OK || result == Z_STREAM_END || result == Z_BUF_ERROR ? NULL : "its gzip data is damaged";
}

void codec_stream_close(struct codec_stream *s) {
    if (s) lib.inflate_end(&s->z);
    free(s);
}

// CRC-32 -------------------------------------------------------------------------------------------------------------

// Eight tables: eight bytes a step. Built on the stack of the process once; a race would write the same numbers.
static uint32_t crc_table[8][256];

static void make_crc_table(void) {
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t c = i;
        for (int k = 0; k < 8; k++) c = c & 1 ? c >> 1 ^ 0xEDB88320u : c >> 1;
        crc_table[0][i] = c;
    }
    for (uint32_t i = 0; i < 256; i++)
        for (int t = 1; t < 8; t++) crc_table[t][i] = crc_table[t - 1][i] >> 8 ^ crc_table[0][crc_table[t - 1][i] & 255];
}

uint32_t codec_crc32(uint32_t crc, const void *bytes, size_t size) {
    if (!crc_table[0][1]) make_crc_table();
    const uint8_t *p = bytes;
    crc = ~crc;
    for (; size >= 8; p += 8, size -= 8) {
        uint32_t low, high;
        memcpy(&low, p, 4);
        memcpy(&high, p + 4, 4);
        low ^= crc;
        crc = crc_table[7][low & 255] ^ crc_table[6][low >> 8 & 255] ^ crc_table[5][low >> 16 & 255] ^
              crc_table[4][low >> 24] ^ crc_table[3][high & 255] ^ crc_table[2][high >> 8 & 255] ^
              crc_table[1][high >> 16 & 255] ^ crc_table[0][high >> 24];
    }
    for (; size; p++, size--) crc = crc >> 8 ^ crc_table[0][(crc ^ *p) & 255];
    return ~crc;
}
