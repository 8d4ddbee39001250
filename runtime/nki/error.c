// SPDX-License-Identifier: MIT
#include "nki/error.h"

#include <stdio.h>
#include <string.h>

bool nki_fail(struct nki_error *err, const char *code, const char *format, ...) {
    const char *op = err->op, *doc = err->doc;
    int32_t site = err->site;
    memset(err, 0, offsetof(struct nki_error, operands));
    err->want[0] = err->got[0] = 0;
    err->has_limit = false;
    err->raised = true;
    err->code = code;
    err->op = op;
    err->doc = doc;
    err->site = site;
    va_list ap;
    va_start(ap, format);
    vsnprintf(err->message, sizeof err->message, format, ap);
    va_end(ap);
    return false;
}

void nki_error_want(struct nki_error *err, const char *format, ...) {
    va_list ap;
    va_start(ap, format);
    vsnprintf(err->want, sizeof err->want, format, ap);
    va_end(ap);
}

void nki_error_got(struct nki_error *err, const char *format, ...) {
    va_list ap;
    va_start(ap, format);
    vsnprintf(err->got, sizeof err->got, format, ap);
    va_end(ap);
}

void nki_error_limit(struct nki_error *err, int64_t limit) {
    err->has_limit = true;
    err->limit = limit;
}

void nki_error_view(struct nki_error *err, const char *name, const struct nki_view *view) {
    if (err->operand_count == NKI_ERROR_OPERANDS || !view || !view->st) return;
    struct nki_error_operand *o = &err->operands[err->operand_count++];
    o->name = name;
    o->is_view = true;
    o->view = *view;
}

void nki_error_value(struct nki_error *err, const char *name, const char *format, ...) {
    if (err->operand_count == NKI_ERROR_OPERANDS) return;
    struct nki_error_operand *o = &err->operands[err->operand_count++];
    o->name = name;
    o->is_view = false;
    va_list ap;
    va_start(ap, format);
    vsnprintf(o->value, sizeof o->value, format, ap);
    va_end(ap);
}
