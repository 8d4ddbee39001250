// SPDX-License-Identifier: MIT
// The parser's entry point and the services its rules share.
#include <stdio.h>
#include <string.h>

#include "python/parser_internal.h"
#include "python/source.h"

void *py_parser_alloc(struct py_parser *p, size_t size) {
    void *block = py_arena_alloc(&p->tree->arena, size);
    if (!block) py_fail_memory(&p->failure);
    return block;
}

void *py_node_alloc(struct py_parser *p, enum py_kind kind) {
    size_t size = py_node_info[kind].size;
    struct py_node *node = py_parser_alloc(p, size);
    memset(node, 0, size);
    node->kind = (uint8_t)kind;
    return node;
}

void *py_node_from(struct py_parser *p, enum py_kind kind, struct py_start start) {
    struct py_node *node = py_node_alloc(p, kind);
    node->lineno = start.lineno;
    node->col = start.col;
    node->end_lineno = p->end_lineno;
    node->end_col = p->end_col;
    return node;
}

void py_push_slow(struct py_parser *p, void *item) {
    uint32_t capacity = p->stack_capacity ? p->stack_capacity * 2 : 256;
    void **stack =
        py_block_resize(&p->tree->arena, p->stack, p->stack_capacity * sizeof *stack, capacity * sizeof *stack);
    if (!stack) py_fail_memory(&p->failure);
    p->stack = stack;
    p->stack_capacity = capacity;
    p->stack[p->top++] = item;
}

struct py_list *py_take_list(struct py_parser *p, uint32_t from) {
    uint32_t count = p->top - from;
    struct py_list *list = py_parser_alloc(p, sizeof *list + count * sizeof *list->items);
    list->count = count;
    if (count) memcpy(list->items, p->stack + from, count * sizeof *list->items);
    p->top = from;
    return list;
}

void py_fill(struct py_parser *p) {
    if (p->fill == p->capacity) {
        uint32_t capacity = p->capacity ? p->capacity * 2 : 64;
        struct py_token *tokens =
            py_block_resize(&p->tree->arena, p->tokens, p->capacity * sizeof *tokens, capacity * sizeof *tokens);
        if (!tokens) py_fail_memory(&p->failure);
        p->tokens = tokens;
        p->capacity = capacity;
    }
    p->failure.from_lexer = true;
    py_lexer_next(&p->lexer, &p->tokens[p->fill]);
    p->failure.from_lexer = false;
    p->fill++;
}

bool py_scan(struct py_parser *p, bool (*scan)(struct py_parser *p)) {
    jmp_buf *outer = p->failure.jump, here;
    const struct py_lexer lexer = p->lexer;
    const uint32_t fill = p->fill;
    p->failure.jump = &here;
    bool found;
    if (setjmp(here) == 0) {
        found = scan(p);
        p->failure.jump = outer;
        return found;
    }
    p->failure.jump = outer;
    if (p->failure.status == PY_MEMORY) longjmp(*outer, 1);
    p->failure.from_lexer = p->failure.mild = false;
    p->lexer = lexer;
    p->fill = fill;
    return false;
}

struct py_token *py_peek(struct py_parser *p, uint32_t ahead) {
    while (p->pos + ahead >= p->fill) {
        if (p->tokens[p->fill - 1].kind == PY_T_ENDMARKER) return &p->tokens[p->fill - 1];
        py_fill(p);
    }
    return &p->tokens[p->pos + ahead];
}

void py_forget_tokens(struct py_parser *p) {
    if (p->pos < 2) return;
    uint32_t drop = p->pos - 1;
    memmove(p->tokens, p->tokens + drop, (p->fill - drop) * sizeof *p->tokens);
    p->pos -= drop;
    p->fill -= drop;
    p->dropped += drop;
}

static void note_furthest(struct py_parser *p) {
    if (p->dropped + p->pos < p->stopped_at) return;
    p->stopped = *py_current(p);
    p->stopped_at = p->dropped + p->pos;
}

void py_invalid(struct py_parser *p) {
    const struct py_token *token = py_current(p);
    p->generic = true;
    note_furthest(p);
    if (token->kind == PY_T_INDENT || token->kind == PY_T_DEDENT) {
        py_fail(&p->failure, PY_INDENTATION_ERROR, py_range_of_token(token),
                token->kind == PY_T_INDENT ? "unexpected indent" : "unexpected unindent");
    }
    py_error_at(p, py_range_of_token(token), "invalid syntax");
}

// The furthest token that either pass has looked at.
static const struct py_token *furthest(struct py_parser *p) {
    note_furthest(p);
    return &p->stopped;
}

void py_invalid_late(struct py_parser *p, const char *message) {
    py_error_at(p, py_range_of_token(furthest(p)), "%s", message);
}

void py_indentation_late(struct py_parser *p, const char *format, ...) {
    char message[256];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    py_fail(&p->failure, PY_INDENTATION_ERROR, py_range_of_token(furthest(p)), "%s", message);
}

void py_expect(struct py_parser *p, int kind) {
    if (py_kind_now(p) != kind) py_invalid(p);
    py_advance(p);
}

void py_expect_forced(struct py_parser *p, int kind, const char *spelling) {
    if (py_kind_now(p) != kind) py_error_at(p, py_range_of_token(py_current(p)), "expected '%s'", spelling);
    py_advance(p);
}

void py_enter(struct py_parser *p, uint32_t weight) {
    p->depth += weight;
    if (p->second && ++p->effort > p->effort_limit) py_invalid(p);
    if (p->depth > PY_MAX_DEPTH) {
        py_error_at(p, py_range_of_token(py_current(p)), "too deeply nested: maximum recursion depth exceeded");
    }
}

bool py_try(struct py_parser *p, py_parse_fn parse, struct py_node **result) {
    return py_try_with(p, parse, false, result);
}

bool py_try_with(struct py_parser *p, py_parse_fn parse, bool diagnosing, struct py_node **result) {
    jmp_buf *outer = p->failure.jump, here;
    const uint32_t pos = p->pos, top = p->top, depth = p->depth, end_lineno = p->end_lineno, end_col = p->end_col;
    const bool diagnose = p->diagnose;
    p->failure.jump = &here;
    p->diagnose = diagnosing;
    bool done = false;
    if (setjmp(here) == 0) {
        *result = parse(p);
        done = true;
    }
    p->failure.jump = outer;
    p->diagnose = diagnose;
    p->depth = depth;
    if (done) {
        note_furthest(p);
        return true;
    }
    if (!p->generic) longjmp(*outer, 1); // the lexer's error, or one that the first pass would have raised
    p->generic = false;
    p->pos = pos;
    p->top = top;
    p->end_lineno = end_lineno;
    p->end_col = end_col;
    return false;
}

static void parse_module(struct py_parser *p) {
    p->pos = p->fill = p->top = p->depth = 0;
    p->dropped = 0;
    p->end_lineno = 1;
    p->end_col = 0;
    p->generic = p->failure.from_lexer = p->failure.mild = false;
    py_lexer_init(&p->lexer, p->tree->source, p->tree->source_size, &p->names, &p->failure);
    py_fill(p);
    while (py_kind_now(p) == PY_T_NEWLINE) py_advance(p);
    while (py_kind_now(p) != PY_T_ENDMARKER) py_parse_statement(p);
    struct py_Module *module = py_node_alloc(p, PY_Module);
    module->body = py_take_list(p, 0);
    p->tree->module = module;
}

// The rest of the source may hold an error of the lexer, which CPython then prefers; so do we. `line` is where the
// parser stopped.
static void look_for_lexer_error(struct py_parser *p, uint32_t line) {
    struct py_failure found = p->failure;
    jmp_buf here;
    p->failure.jump = &here;
    if (setjmp(here) == 0) {
        struct py_token token;
        do py_lexer_next(&p->lexer, &token);
        while (token.kind != PY_T_ENDMARKER);
        p->failure = found;
        return;
    }
    if (p->lexer.fstring_depth > 0) { // what is wrong in an f-string's field matters more than how the string goes on
        p->failure = found;
        return;
    }
    if (p->failure.status == PY_SYNTAX && !p->failure.mild) return;
    const struct py_bracket *open = p->lexer.level > 0 ? &p->lexer.brackets[p->lexer.level - 1] : NULL;
    if (p->failure.status == PY_SYNTAX && open && line > open->lineno) {
        p->failure.type = PY_SYNTAX_ERROR;
        p->failure.at = (struct py_range){open->lineno, open->col, open->lineno, PY_NO_END};
        snprintf(p->failure.message, sizeof p->failure.message, "'%c' was never closed", open->open);
        return;
    }
    p->failure = found;
}

static enum py_status run(struct py_parser *p, const char *source, size_t size) {
    jmp_buf here;
    p->failure.jump = &here;
    if (setjmp(here) == 0) {
        py_source_prepare(p->tree, source, size, &p->failure);
        if (!py_names_init(&p->names, &p->tree->arena)) return PY_MEMORY;
        parse_module(p);
        return PY_OK;
    }
    if (p->failure.status == PY_MEMORY) return PY_MEMORY;
    if (p->generic) {
        struct py_failure plain = p->failure;
        if (setjmp(here) == 0) {
            p->diagnose = p->second = true;
            p->effort_limit = 4 * p->stopped_at + 20000;
            parse_module(p);
            p->failure = plain; // the passes disagree; the first one decides
        } else if (p->failure.status == PY_MEMORY) {
            return PY_MEMORY;
        } else if (p->generic) {
            p->failure = plain;
        }
    }
    const bool indentation = p->generic && p->failure.type == PY_INDENTATION_ERROR;
    if (p->tokens && p->fill > 0 && !p->failure.from_lexer && !indentation) {
        look_for_lexer_error(p, furthest(p)->lineno);
    }
    return PY_SYNTAX;
}

enum py_status py_parse(struct py_tree *tree, const char *source, size_t size, size_t memory_limit) {
    memset(tree, 0, sizeof *tree);
    tree->arena.limit = memory_limit;
    struct py_parser *p = py_block_resize(&tree->arena, NULL, 0, sizeof *p);
    if (!p) return PY_MEMORY;
    memset(p, 0, sizeof *p);
    p->tree = tree;
    enum py_status status = run(p, source, size);
    if (status == PY_SYNTAX) py_failure_finish(&p->failure, tree);
    if (status == PY_OK) {
        tree->names = py_arena_alloc(&tree->arena, sizeof *tree->names);
        if (!tree->names)
            status = PY_MEMORY;
        else
            *tree->names = p->names;
    }
    struct py_arena *arena = &tree->arena;
    if (p->tokens) py_block_resize(arena, p->tokens, p->capacity * sizeof *p->tokens, 0);
    if (p->stack) py_block_resize(arena, p->stack, p->stack_capacity * sizeof *p->stack, 0);
    py_block_resize(arena, p, sizeof *p, 0);
    return status;
}

void py_tree_free(struct py_tree *tree) {
    py_arena_free(&tree->arena);
    memset(tree, 0, sizeof *tree);
}
