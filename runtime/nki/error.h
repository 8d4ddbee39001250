// SPDX-License-Identifier: MIT
// error.h: a refusal of the machine, as data. The diagnostics of prelude/nki turn it into text and fixes.
//
// A struct is a value and owns nothing: operands are copies of views, whose storages live as long as the machine.
#ifndef NKILN_NKI_ERROR_H
#define NKILN_NKI_ERROR_H

#include <stdarg.h>

#include "nki/view.h"

#define NKI_ERROR_OPERANDS 6

struct nki_error_operand {
    const char *name; // parameter name; static
    bool is_view;
    struct nki_view view;
    char value[48]; // what was given when it is no tensor
};

struct nki_error {
    bool raised;
    bool warning;
    const char *code; // static
    const char *op;   // "nisa.tensor_tensor"; static or owned by the machine
    const char *doc;  // name of the document that states the rule
    int32_t site;
    int operand_count;
    struct nki_error_operand operands[NKI_ERROR_OPERANDS];
    char want[160], got[160], message[240];
    bool has_limit;
    int64_t limit;
};

// Start an error: clears the struct. Returns false, so that a check can end in `return nki_fail(...)`.
bool nki_fail(struct nki_error *err, const char *code, const char *format, ...) __attribute__((format(printf, 3, 4)));
void nki_error_want(struct nki_error *err, const char *format, ...) __attribute__((format(printf, 2, 3)));
void nki_error_got(struct nki_error *err, const char *format, ...) __attribute__((format(printf, 2, 3)));
void nki_error_limit(struct nki_error *err, int64_t limit);
void nki_error_view(struct nki_error *err, const char *name, const struct nki_view *view);
void nki_error_value(struct nki_error *err, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
