// SPDX-License-Identifier: MIT
// ops_lua.h: what the C helpers of lowered Python code share. The helpers are the Lua module `rt.pyops`; prelude/python
// hands them its metatables once (`setup`) and every lowered chunk calls them.
//
// Representation: int = Lua integer, float = Lua float, bool = Lua boolean, str = Lua string (UTF-8), everything else a
// table or userdata with a metatable. nil means "unbound"; None is a table of its own. `struct pyops` belongs to the
// Lua state (a userdata anchored in its registry) and its address sits in run_state.python. Every function here may
// raise a Lua error; Python errors are tables {kind="python", etype=, message=, site=}.
#ifndef NKILN_PYTHON_OPS_LUA_H
#define NKILN_PYTHON_OPS_LUA_H

#include <lauxlib.h>
#include <lua.h>
#include <stdbool.h>
#include <stdint.h>

#include "run.h"

enum pv_kind {
    PV_LIST,
    PV_TUPLE,
    PV_DICT,
    PV_SET,
    PV_FROZENSET,
    PV_RANGE,
    PV_SLICE,
    PV_MODULE,
    PV_CALLABLE, // userdata struct pv_callable
    PV_ITERATOR,
    PV_METHOD,
    PV_CLASS,
    PV_NONE,
    PV_ELLIPSIS,
    PV_BYTES,
    PV_KINDS,
    PV_OTHER,  // a table or userdata with a metatable that is none of the above
    PV_SCALAR, // nil, boolean, number, string, function
};

// Lua functions for what has no fast path here.
enum pv_slow {
    SLOW_BINOP,     // (op, a, b, inplace) -> value
    SLOW_COMPARE,   // (op, a, b) -> value
    SLOW_ATTR,      // (obj, name) -> value or nil
    SLOW_SETATTR,   // (obj, name, value)
    SLOW_GETITEM,   // (obj, index) -> value
    SLOW_SETITEM,   // (obj, index, value)
    SLOW_ITER,      // (obj) -> Lua function returning the next value or nil
    SLOW_CALLEE,    // (obj) -> callable, self or nil
    SLOW_STR_INDEX, // (s, index or start, stop, step) -> string
    SLOW_NAME,      // (obj) -> type name
    SLOW_INIT,      // Lua function (init, object, ...) -> object
    SLOW_FORMAT,    // (value, conversion, spec) -> text
    SLOW_IDENTITY,  // Lua function (x) -> x
    SLOW_COUNT,
};

struct pyops {
    const void *mt[PV_KINDS]; // addresses of the metatables
    int mt_ref[PV_KINDS];     // registry references of the same
    int none, ellipsis;       // registry references of the two values
    const void *none_at, *ellipsis_at;
    int slow[SLOW_COUNT];
    int info;        // registry reference: weak table, Lua function -> signature or info table
    int str_methods; // registry reference: name -> callable
    int num_methods; // the same for int, float and bool
    int append;      // registry reference: the string "append"
    int last_count;  // positional arguments of the call being bound, for the message of an arity error
    int depth;       // nesting of comparisons, repr and the like
    char name[64];   // the latest type name taken from a table
};

static inline struct pyops *pv_ops(lua_State *L) { return (struct pyops *)run_state(L)->python; }

// Site and step accounting. pv_step raises the step limit and the interrupt.
static inline void pv_site(lua_State *L, int index) { run_state(L)->site = (int32_t)lua_tointeger(L, index); }
void pv_step_slow(lua_State *L);
static inline void pv_steps(lua_State *L, uint64_t count) {
    struct run_state *run = run_state(L);
    run->steps += count;
    if (__builtin_expect((run->step_limit && run->steps > run->step_limit) || run->interrupt, 0)) pv_step_slow(L);
}

enum pv_kind pv_kind(lua_State *L, int index);
// The same, and the metatable is pushed; nothing is pushed for PV_SCALAR and for PV_OTHER without one (returns false).
bool pv_metatable(lua_State *L, int index, enum pv_kind *kind);
// Places in metatables that are read on hot paths: the class of an instance, the methods of a built-in type.
enum { PV_META_CLASS = 1, PV_META_METHODS = 2 };
// Places in a class table.
enum { PV_CLASS_NAMESPACE = 1, PV_CLASS_ORDER = 2, PV_CLASS_GUARD = 6 };
static inline bool pv_is_none(lua_State *L, int index) {
    return lua_type(L, index) == LUA_TTABLE && lua_topointer(L, index) == pv_ops(L)->none_at;
}
static inline void pv_push_none(lua_State *L) { lua_rawgeti(L, LUA_REGISTRYINDEX, pv_ops(L)->none); }
static inline void pv_set_kind(lua_State *L, enum pv_kind kind) { // of the table on the top
    lua_rawgeti(L, LUA_REGISTRYINDEX, pv_ops(L)->mt_ref[kind]);
    lua_setmetatable(L, -2);
}
static inline void pv_push_slow(lua_State *L, enum pv_slow which) {
    lua_rawgeti(L, LUA_REGISTRYINDEX, pv_ops(L)->slow[which]);
}

// Push metatable field `name` of the value at index; false (and nothing pushed) when it has none.
bool pv_hook(lua_State *L, int index, const char *name);
// Python's name of the value's type; valid until the next call.
const char *pv_type_name(lua_State *L, int index);
_Noreturn void pv_raise(lua_State *L, const char *etype, const char *format, ...) __attribute__((format(printf, 3, 4)));
// Push {kind=, etype or code, message=, site=}; the caller adds fields and calls lua_error.
void pv_push_error(lua_State *L, const char *etype, const char *code, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
_Noreturn void pv_overflow(lua_State *L);

bool pv_truth(lua_State *L, int index);
bool pv_equal(lua_State *L, int a, int b);
// Integer value of an index: ints and bools; false when it is neither.
static inline bool pv_integer(lua_State *L, int index, lua_Integer *out) {
    int exact = 0;
    if (lua_type(L, index) == LUA_TNUMBER) {
        if (!lua_isinteger(L, index)) return false;
        *out = lua_tointegerx(L, index, &exact);
        return exact;
    }
    if (!lua_isboolean(L, index)) return false;
    *out = lua_toboolean(L, index);
    return true;
}

// Dicts and sets: a table {map, slots, keys, count, top}. `map` takes the canonical key to the value, `slots` to its
// place in `keys`, which keeps insertion order and the key as first given. Stack indices are absolute.
void pv_dict_key(lua_State *L, int key);           // push the canonical key; raises for an unhashable one
bool pv_dict_get(lua_State *L, int dict, int key); // push the value and return true, or push nothing
void pv_dict_set(lua_State *L, int dict, int key, int value);
bool pv_dict_delete(lua_State *L, int dict, int key);
lua_Integer pv_dict_count(lua_State *L, int dict);
void pv_dict_new(lua_State *L, enum pv_kind kind, int size);

// Number of code points of a UTF-8 string; equals its length in bytes for ASCII.
size_t pv_str_length(const char *s, size_t bytes);

// Call the value at index f with the values above it, the last `names` of which are keyword arguments. With tail set
// the result is a Lua function and its arguments, for the caller to call outside C; otherwise one result. Returns the
// count.
struct pv_keywords;
int pv_call(lua_State *L, int f, struct pv_keywords *keywords, bool tail);

// Push the attribute of the value at index; false and nothing pushed when it has none.
bool pv_attribute(lua_State *L, int index, int name);

void pv_register_core(lua_State *L);
void pv_register_arith(lua_State *L);
void pv_register_compare(lua_State *L);
void pv_register_subscript(lua_State *L);
void pv_register_dict(lua_State *L);
void pv_register_call(lua_State *L);
void pv_register_method(lua_State *L);
void pv_register_attr(lua_State *L);
void pv_register_iter(lua_State *L);
void pv_register_text(lua_State *L);

#endif
