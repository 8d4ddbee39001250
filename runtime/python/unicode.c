// SPDX-License-Identifier: MIT
#include "python/unicode.h"

#include <string.h>

#include "python/lexer.h"
#include "python/source.h"
#include "python/unicode_data.h"

uint32_t py_utf8_decode(const char *at, int length) {
    const unsigned char *c = (const unsigned char *)at;
    switch (length) {
    case 1: return c[0];
    case 2: return (uint32_t)(c[0] & 0x1F) << 6 | (c[1] & 0x3F);
    case 3: return (uint32_t)(c[0] & 0x0F) << 12 | (uint32_t)(c[1] & 0x3F) << 6 | (c[2] & 0x3F);
    default:
        return (uint32_t)(c[0] & 0x07) << 18 | (uint32_t)(c[1] & 0x3F) << 12 | (uint32_t)(c[2] & 0x3F) << 6 |
               (c[3] & 0x3F);
    }
}

int py_utf8_encode(uint32_t code, char *to) {
    if (code < 0x80) {
        to[0] = (char)code;
        return 1;
    }
    if (code < 0x800) {
        to[0] = (char)(0xC0 | code >> 6);
        to[1] = (char)(0x80 | (code & 0x3F));
        return 2;
    }
    if (code < 0x10000) {
        to[0] = (char)(0xE0 | code >> 12);
        to[1] = (char)(0x80 | (code >> 6 & 0x3F));
        to[2] = (char)(0x80 | (code & 0x3F));
        return 3;
    }
    to[0] = (char)(0xF0 | code >> 18);
    to[1] = (char)(0x80 | (code >> 12 & 0x3F));
    to[2] = (char)(0x80 | (code >> 6 & 0x3F));
    to[3] = (char)(0x80 | (code & 0x3F));
    return 4;
}

// Index of the last row whose first member is not above `code`, -1 when there is none. Rows start with that member.
static int64_t find_row(const void *rows, uint32_t count, size_t row_size, uint32_t code) {
    uint32_t low = 0, high = count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2, first;
        memcpy(&first, (const char *)rows + middle * row_size, sizeof first);
        if (first <= code) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return (int64_t)low - 1;
}

static bool in_ranges(const struct py_code_range *ranges, uint32_t count, uint32_t code) {
    int64_t row = find_row(ranges, count, sizeof *ranges, code);
    return row >= 0 && code <= ranges[row].last;
}

bool py_is_name_start(uint32_t code) { return in_ranges(py_name_start, py_name_start_count, code); }
bool py_is_name_part(uint32_t code) { return in_ranges(py_name_part, py_name_part_count, code); }
bool py_is_printable(uint32_t code) { return !in_ranges(py_not_printable, py_not_printable_count, code); }

// Hangul syllables are composed by arithmetic: lead, vowel and optional tail consonant.
enum { S_BASE = 0xAC00, L_BASE = 0x1100, V_BASE = 0x1161, T_BASE = 0x11A7, L_COUNT = 19, V_COUNT = 21, T_COUNT = 28 };
enum { LONGEST_DECOMPOSITION = 18 };

static int combining_rank(uint32_t code) {
    int64_t row = find_row(py_combining, py_combining_count, sizeof *py_combining, code);
    return row >= 0 && code <= py_combining[row].last ? py_combining[row].rank : 0;
}

static size_t decompose(uint32_t code, uint32_t *to) {
    if (code >= S_BASE && code < S_BASE + L_COUNT * V_COUNT * T_COUNT) {
        uint32_t index = code - S_BASE, tail = index % T_COUNT;
        to[0] = L_BASE + index / (V_COUNT * T_COUNT);
        to[1] = V_BASE + index / T_COUNT % V_COUNT;
        to[2] = T_BASE + tail;
        return tail ? 3 : 2;
    }
    int64_t row = find_row(py_decompositions, py_decompositions_count, sizeof *py_decompositions, code);
    if (row < 0 || py_decompositions[row].code != code) {
        to[0] = code;
        return 1;
    }
    memcpy(to, py_decomposed + py_decompositions[row].offset, py_decompositions[row].length * sizeof *to);
    return py_decompositions[row].length;
}

// The character that the two make together, 0 when none.
static uint32_t compose(uint32_t first, uint32_t second) {
    if (first >= L_BASE && first < L_BASE + L_COUNT && second >= V_BASE && second < V_BASE + V_COUNT) {
        return S_BASE + ((first - L_BASE) * V_COUNT + (second - V_BASE)) * T_COUNT;
    }
    if (first >= S_BASE && first < S_BASE + L_COUNT * V_COUNT * T_COUNT && (first - S_BASE) % T_COUNT == 0 &&
        second > T_BASE && second < T_BASE + T_COUNT) {
        return first + (second - T_BASE);
    }
    for (int64_t row = find_row(py_compositions, py_compositions_count, sizeof *py_compositions, first);
         row >= 0 && py_compositions[row].first == first; row--) {
        if (py_compositions[row].second == second) return py_compositions[row].code;
    }
    return 0;
}

// Put combining marks in the order of their ranks (stable), then join what can be joined. Returns the new count.
static size_t reorder_and_compose(uint32_t *codes, size_t count) {
    for (size_t i = 1; i < count; i++) {
        int rank = combining_rank(codes[i]);
        if (rank == 0) continue;
        uint32_t code = codes[i];
        size_t at = i;
        for (; at > 0 && combining_rank(codes[at - 1]) > rank; at--) codes[at] = codes[at - 1];
        codes[at] = code;
    }
    size_t kept = 0, starter = SIZE_MAX;
    int last_rank = 0;
    for (size_t i = 0; i < count; i++) {
        int rank = combining_rank(codes[i]);
        bool blocked = starter == SIZE_MAX || (kept > starter + 1 && last_rank >= rank);
        uint32_t joined = blocked ? 0 : compose(codes[starter], codes[i]);
        if (joined) {
            codes[starter] = joined;
            continue;
        }
        if (rank == 0) starter = kept;
        last_rank = rank;
        codes[kept++] = codes[i];
    }
    return kept;
}

const char *py_nfkc(struct py_arena *arena, const char *text, size_t length, size_t *result_length) {
    uint32_t *codes = py_arena_alloc(arena, length * LONGEST_DECOMPOSITION * sizeof *codes);
    if (!codes) return NULL;
    size_t count = 0;
    bool same = true; // most names are in this form already
    for (size_t i = 0; i < length;) {
        int size = py_utf8_length((const unsigned char *)text + i, (const unsigned char *)text + length);
        uint32_t code = py_utf8_decode(text + i, size);
        size_t parts = decompose(code, codes + count);
        same &= parts == 1 && codes[count] == code && combining_rank(code) == 0 && code < 0x300;
        count += parts;
        i += (size_t)size;
    }
    if (same) {
        *result_length = length;
        return text;
    }
    count = reorder_and_compose(codes, count);
    char *result = py_arena_alloc(arena, count * 4 + 1), *to = result;
    if (!result) return NULL;
    for (size_t i = 0; i < count; i++) to += py_utf8_encode(codes[i], to);
    *result_length = (size_t)(to - result);
    return result;
}

static char upper(char c) { return c >= 'a' && c <= 'z' ? (char)(c - 32) : c; }

static bool skip_prefix(const char **name, size_t *length, const char *prefix) {
    size_t size = strlen(prefix);
    if (*length < size) return false;
    for (size_t i = 0; i < size; i++) {
        if (upper((*name)[i]) != prefix[i]) return false;
    }
    *name += size;
    *length -= size;
    return true;
}

// The longest of `names` that begins the text; its index, -1 when none does.
static int longest_prefix(const char **text, size_t *length, const char *const *names, int count) {
    int best = -1;
    size_t best_size = 0;
    for (int i = 0; i < count; i++) {
        const char *rest = *text;
        size_t left = *length;
        size_t size = strlen(names[i]);
        if ((best < 0 || size > best_size) && skip_prefix(&rest, &left, names[i])) best = i, best_size = size;
    }
    *text += best_size;
    *length -= best_size;
    return best;
}

static int32_t hangul_named(const char *name, size_t length) {
    static const char *const leads[] = {"G",  "GG", "N", "D",  "DD", "R", "M", "B", "BB", "S",
                                        "SS", "",   "J", "JJ", "C",  "K", "T", "P", "H"};
    static const char *const vowels[] = {"A",  "AE", "YA", "YAE", "EO", "E",  "YEO", "YE", "O",  "WA", "WAE",
                                         "OE", "YO", "U",  "WEO", "WE", "WI", "YU",  "EU", "YI", "I"};
    static const char *const tails[] = {"",   "G",  "GG", "GS", "N",  "NJ", "NH", "D", "L",  "LG",
                                        "LM", "LB", "LS", "LT", "LP", "LH", "M",  "B", "BS", "S",
                                        "SS", "NG", "J",  "C",  "K",  "T",  "P",  "H"};
    int lead = longest_prefix(&name, &length, leads, L_COUNT);
    int vowel = longest_prefix(&name, &length, vowels, V_COUNT);
    int tail = longest_prefix(&name, &length, tails, T_COUNT);
    if (lead < 0 || vowel < 0 || tail < 0 || length) return -1;
    return S_BASE + (lead * V_COUNT + vowel) * T_COUNT + tail;
}

static int32_t ideograph_named(const char *digits, size_t length) {
    // The ranges whose names are CJK UNIFIED IDEOGRAPH-code.
    static const struct py_code_range ranges[] = {
        {0x3400, 0x4DBF},   {0x4E00, 0x9FFF},   {0x20000, 0x2A6DF}, {0x2A700, 0x2B739}, {0x2B740, 0x2B81D},
        {0x2B820, 0x2CEA1}, {0x2CEB0, 0x2EBE0}, {0x2EBF0, 0x2EE5D}, {0x30000, 0x3134A}, {0x31350, 0x323AF}};
    if (length != 4 && length != 5) return -1;
    uint32_t code = 0;
    for (size_t i = 0; i < length; i++) {
        char c = upper(digits[i]);
        if (!((c >= '0' && c <= '9') || (c >= 'A' && c <= 'F'))) return -1;
        code = code << 4 | (uint32_t)(c <= '9' ? c - '0' : c - 'A' + 10);
    }
    return in_ranges(ranges, sizeof ranges / sizeof *ranges, code) ? (int32_t)code : -1;
}

// Names are kept as 32-bit fingerprints, all different: a wrong name is taken for a right one once in 120,000 times.
int32_t py_character_named(const char *name, size_t length) {
    const char *rest = name;
    size_t left = length;
    if (skip_prefix(&rest, &left, "CJK UNIFIED IDEOGRAPH-")) return ideograph_named(rest, left);
    if (skip_prefix(&rest, &left, "HANGUL SYLLABLE ")) return hangul_named(rest, left);
    uint32_t print = PY_HASH_START;
    for (size_t i = 0; i < length; i++) print = PY_HASH_STEP(print, upper(name[i]));
    print ^= print >> 16;
    print *= 0x85EBCA6B;
    print ^= print >> 13;
    for (uint32_t i = 0; i < py_name_fingerprints_count; i++) {
        if (py_name_fingerprints[i] != print) continue;
        for (uint32_t run = 0; run < py_named_runs_count; run++) {
            if (i < py_named_runs[run].count) return (int32_t)(py_named_runs[run].code + i);
            i -= py_named_runs[run].count;
        }
    }
    return -1;
}

struct py_name *py_lexer_wide_name(struct py_lexer *lexer, const char *start, const char *end) {
    for (const char *at = start; at < end;) {
        int length = py_utf8_length((const unsigned char *)at, (const unsigned char *)end);
        uint32_t code = py_utf8_decode(at, length);
        bool fits = code < 128 || (at == start ? py_is_name_start(code) : py_is_name_part(code));
        if (!fits) {
            if (py_is_printable(code)) {
                py_lexer_fail(lexer, at, at + length, "invalid character '%.*s' (U+%04X)", length, at, code);
            }
            py_lexer_fail(lexer, at, at + length, "invalid non-printable character U+%04X", code);
        }
        at += length;
    }
    size_t length;
    const char *text = py_nfkc(lexer->names->arena, start, (size_t)(end - start), &length);
    if (!text) return NULL;
    uint32_t hash = PY_HASH_START;
    for (size_t i = 0; i < length; i++) hash = PY_HASH_STEP(hash, text[i]);
    return py_names_intern(lexer->names, text, (uint32_t)length, hash);
}
