// SPDX-License-Identifier: MIT
// ops_compare_lua.c: comparison, membership and equality. Each operator exists twice: with its value (an object's
// __pycompare may return anything), and as the truth of that value, for conditions.
#include <math.h>
#include <string.h>

#include "python/ops_lua.h"

enum comparison { LT, LE, GT, GE, EQ, NE };
static const char *const comparison_names[] = {"Lt", "LtE", "Gt", "GtE", "Eq", "NotEq"};
static const char *const comparison_signs[] = {"<", "<=", ">", ">=", "==", "!="};

enum { DEPTH_MAX = 150 };

static int order(lua_State *L, int a, int b, enum comparison op);

static void enter(lua_State *L) {
    struct pyops *ops = pv_ops(L);
    if (ops->depth >= DEPTH_MAX) {
        ops->depth = 0;
        pv_raise(L, "RecursionError", "maximum recursion depth exceeded in comparison");
    }
    ops->depth++;
    luaL_checkstack(L, 20, "comparison");
}

static void leave(lua_State *L) {
    struct pyops *ops = pv_ops(L);
    if (ops->depth > 0) ops->depth--;
}

static bool is_number(int type) { return type == LUA_TNUMBER || type == LUA_TBOOLEAN; }

static bool numbers_equal(lua_State *L, int a, int b) {
    if (lua_isboolean(L, a)) {
        lua_pushinteger(L, lua_toboolean(L, a));
        lua_replace(L, a);
    }
    if (lua_isboolean(L, b)) {
        lua_pushinteger(L, lua_toboolean(L, b));
        lua_replace(L, b);
    }
    return lua_rawequal(L, a, b);
}

// Call __pycompare(op, a, b) of the value at `owner`; pushes its result, or nothing when there is none or it declines.
static bool hook_compare(lua_State *L, int owner, const char *op, int a, int b) {
    if (!pv_hook(L, owner, "__pycompare")) return false;
    lua_pushstring(L, op);
    lua_pushvalue(L, a);
    lua_pushvalue(L, b);
    lua_call(L, 3, 1);
    if (!lua_isnil(L, -1)) return true;
    lua_pop(L, 1);
    return false;
}

static bool sequences_equal(lua_State *L, int a, int b) {
    lua_Unsigned n = lua_rawlen(L, a);
    if (n != lua_rawlen(L, b)) return false;
    enter(L);
    bool same = true;
    for (lua_Unsigned i = 1; same && i <= n; i++) {
        lua_rawgeti(L, a, (lua_Integer)i);
        lua_rawgeti(L, b, (lua_Integer)i);
        same = pv_equal(L, -2, -1);
        lua_pop(L, 2);
    }
    leave(L);
    return same;
}

static bool dicts_equal(lua_State *L, int a, int b) {
    if (pv_dict_count(L, a) != pv_dict_count(L, b)) return false;
    enter(L);
    bool same = true;
    lua_rawgeti(L, a, 1);
    lua_rawgeti(L, b, 1);
    int ma = lua_gettop(L) - 1, mb = ma + 1;
    lua_pushnil(L);
    while (same && lua_next(L, ma)) {
        lua_pushvalue(L, -2);
        lua_rawget(L, mb);
        same = !lua_isnil(L, -1) && pv_equal(L, -2, -1);
        lua_pop(L, 2);
    }
    lua_settop(L, ma - 1);
    leave(L);
    return same;
}

bool pv_equal(lua_State *L, int a, int b) {
    int ta = lua_type(L, a), tb = lua_type(L, b);
    a = lua_absindex(L, a);
    b = lua_absindex(L, b);
    if (is_number(ta) && is_number(tb)) {
        if (ta == LUA_TNUMBER && tb == LUA_TNUMBER) return lua_rawequal(L, a, b);
        lua_pushvalue(L, a);
        lua_pushvalue(L, b);
        bool same = numbers_equal(L, lua_gettop(L) - 1, lua_gettop(L));
        lua_pop(L, 2);
        return same;
    }
    if (lua_rawequal(L, a, b) && pv_kind(L, a) != PV_OTHER) return true;
    if (ta == LUA_TSTRING && tb == LUA_TSTRING) return false;
    enum pv_kind ka = pv_kind(L, a), kb = pv_kind(L, b);
    if (ka == kb) {
        switch (ka) {
        case PV_LIST:
        case PV_TUPLE: return sequences_equal(L, a, b);
        case PV_DICT:
        case PV_SET:
        case PV_FROZENSET: return dicts_equal(L, a, b);
        default: break;
        }
    } else if ((ka == PV_SET && kb == PV_FROZENSET) || (ka == PV_FROZENSET && kb == PV_SET)) {
        return dicts_equal(L, a, b);
    }
    if (hook_compare(L, a, "Eq", a, b) || hook_compare(L, b, "Eq", b, a)) {
        bool same = pv_truth(L, -1);
        lua_pop(L, 1);
        return same;
    }
    return lua_rawequal(L, a, b);
}

static int strings_order(lua_State *L, int a, int b) {
    size_t na, nb;
    const char *sa = lua_tolstring(L, a, &na), *sb = lua_tolstring(L, b, &nb);
    int c = memcmp(sa, sb, na < nb ? na : nb);
    return c ? c : (na > nb) - (na < nb);
}

static bool verdict(enum comparison op, int c) {
    switch (op) {
    case LT: return c < 0;
    case LE: return c <= 0;
    case GT: return c > 0;
    case GE: return c >= 0;
    case EQ: return c == 0;
    default: return c != 0;
    }
}

static bool number_order(lua_State *L, int a, int b, enum comparison op) {
    if (lua_isinteger(L, a) && lua_isinteger(L, b)) {
        lua_Integer x = lua_tointeger(L, a), y = lua_tointeger(L, b);
        return verdict(op, (x > y) - (x < y));
    }
    lua_pushvalue(L, a);
    lua_pushvalue(L, b);
    a = lua_gettop(L) - 1;
    b = a + 1;
    bool same = numbers_equal(L, a, b); // makes ints of bools
    bool result;
    switch (op) {
    case LT: result = lua_compare(L, a, b, LUA_OPLT); break;
    case LE: result = lua_compare(L, a, b, LUA_OPLE); break;
    case GT: result = lua_compare(L, b, a, LUA_OPLT); break;
    case GE: result = lua_compare(L, b, a, LUA_OPLE); break;
    case EQ: result = same; break;
    default: result = !same; break;
    }
    lua_pop(L, 2);
    return result;
}

// Lexicographic order of two lists or two tuples: the first unequal pair decides. Pushes the value.
static int sequences_order(lua_State *L, int a, int b, enum comparison op) {
    lua_Unsigned na = lua_rawlen(L, a), nb = lua_rawlen(L, b);
    enter(L);
    for (lua_Unsigned i = 1; i <= na && i <= nb; i++) {
        lua_rawgeti(L, a, (lua_Integer)i);
        lua_rawgeti(L, b, (lua_Integer)i);
        if (!pv_equal(L, -2, -1)) {
            int top = lua_gettop(L);
            int pushed = order(L, top - 1, top, op);
            leave(L);
            return pushed;
        }
        lua_pop(L, 2);
    }
    leave(L);
    lua_pushboolean(L, verdict(op, (na > nb) - (na < nb)));
    return 1;
}

// Push the value of `a op b`.
static int order(lua_State *L, int a, int b, enum comparison op) {
    int ta = lua_type(L, a), tb = lua_type(L, b);
    if (is_number(ta) && is_number(tb)) {
        lua_pushboolean(L, number_order(L, a, b, op));
        return 1;
    }
    if (ta == LUA_TSTRING && tb == LUA_TSTRING) {
        lua_pushboolean(L, op == EQ   ? lua_rawequal(L, a, b)
                           : op == NE ? !lua_rawequal(L, a, b)
                                      : verdict(op, strings_order(L, a, b)));
        return 1;
    }
    enum pv_kind ka = pv_kind(L, a), kb = pv_kind(L, b);
    if (ka == PV_OTHER || kb == PV_OTHER) {
        static const enum comparison swapped[] = {GT, GE, LT, LE, EQ, NE};
        if (hook_compare(L, a, comparison_names[op], a, b)) return 1;
        if (hook_compare(L, b, comparison_names[swapped[op]], b, a)) return 1;
    }
    if (op == EQ || op == NE) {
        bool same = pv_equal(L, a, b);
        lua_pushboolean(L, op == EQ ? same : !same);
        return 1;
    }
    if (ka == kb && (ka == PV_LIST || ka == PV_TUPLE)) return sequences_order(L, a, b, op);
    pv_push_slow(L, SLOW_COMPARE);
    lua_pushstring(L, comparison_names[op]);
    lua_pushvalue(L, a);
    lua_pushvalue(L, b);
    lua_call(L, 3, 1);
    if (lua_isnil(L, -1)) {
        char left[64];
        lua_pop(L, 1);
        strncpy(left, pv_type_name(L, a), sizeof left - 1);
        left[sizeof left - 1] = 0;
        pv_raise(L, "TypeError", "'%s' not supported between instances of '%s' and '%s'", comparison_signs[op], left,
                 pv_type_name(L, b));
    }
    return 1;
}

// Both operands are ints, the usual case: no more than the two numbers is looked at.
static inline bool ints(lua_State *L, enum comparison op) {
    if (!lua_isinteger(L, 2) || !lua_isinteger(L, 3)) return false;
    lua_Integer a = lua_tointeger(L, 2), b = lua_tointeger(L, 3);
    lua_pushboolean(L, verdict(op, (a > b) - (a < b)));
    return true;
}

static inline int compare(lua_State *L, enum comparison op) {
    if (ints(L, op)) return 1;
    pv_site(L, 1);
    lua_settop(L, 3);
    return order(L, 2, 3, op);
}

static inline int compare_true(lua_State *L, enum comparison op) {
    if (ints(L, op)) return 1;
    pv_site(L, 1);
    lua_settop(L, 3);
    order(L, 2, 3, op);
    if (!lua_isboolean(L, -1)) lua_pushboolean(L, pv_truth(L, -1));
    return 1;
}

#define COMPARE(name, op)                                                                                              \
    static int op_##name(lua_State *L) { return compare(L, op); }                                                      \
    static int op_##name##_true(lua_State *L) { return compare_true(L, op); }

COMPARE(lt, LT)
COMPARE(le, LE)
COMPARE(gt, GT)
COMPARE(ge, GE)
COMPARE(eq, EQ)
COMPARE(ne, NE)

// contains(site, item, container) -> boolean
static bool contains(lua_State *L) {
    pv_site(L, 1);
    lua_settop(L, 3);
    if (lua_type(L, 3) == LUA_TSTRING) {
        if (lua_type(L, 2) != LUA_TSTRING) {
            pv_raise(L, "TypeError", "'in <string>' requires string as left operand, not %s", pv_type_name(L, 2));
        }
        size_t ni, nc;
        const char *item = lua_tolstring(L, 2, &ni), *text = lua_tolstring(L, 3, &nc);
        return ni == 0 || memmem(text, nc, item, ni) != NULL;
    }
    switch (pv_kind(L, 3)) {
    case PV_LIST:
    case PV_TUPLE: {
        lua_Unsigned n = lua_rawlen(L, 3);
        for (lua_Unsigned i = 1; i <= n; i++) {
            lua_rawgeti(L, 3, (lua_Integer)i);
            if (lua_rawequal(L, 4, 2) || pv_equal(L, 4, 2)) return true;
            lua_pop(L, 1);
        }
        return false;
    }
    case PV_DICT:
    case PV_SET:
    case PV_FROZENSET: return pv_dict_get(L, 3, 2);
    default: break;
    }
    if (pv_hook(L, 3, "__pycontains")) {
        lua_pushvalue(L, 3);
        lua_pushvalue(L, 2);
        lua_call(L, 2, 1);
        return pv_truth(L, -1);
    }
    if (pv_kind(L, 3) == PV_SCALAR || pv_kind(L, 3) == PV_NONE) {
        pv_raise(L, "TypeError", "argument of type '%s' is not iterable", pv_type_name(L, 3));
    }
    pv_push_slow(L, SLOW_ITER);
    lua_pushvalue(L, 3);
    lua_call(L, 1, 1);
    for (;;) {
        pv_steps(L, 1);
        lua_pushvalue(L, 4);
        lua_call(L, 0, 1);
        if (lua_isnil(L, -1)) return false;
        if (pv_equal(L, -1, 2)) return true;
        lua_pop(L, 1);
    }
}

static int op_in(lua_State *L) {
    lua_pushboolean(L, contains(L));
    return 1;
}

static int op_not_in(lua_State *L) {
    lua_pushboolean(L, !contains(L));
    return 1;
}

// IS(a, b): identity; numbers of different type are different objects.
static int op_is(lua_State *L) {
    bool same = lua_rawequal(L, 1, 2);
    if (same && lua_type(L, 1) == LUA_TNUMBER) same = lua_isinteger(L, 1) == lua_isinteger(L, 2);
    lua_pushboolean(L, same);
    return 1;
}

static int op_equal(lua_State *L) {
    lua_settop(L, 2);
    lua_pushboolean(L, pv_equal(L, 1, 2));
    return 1;
}

// less(a, b) -> boolean: a < b as sorted() asks it.
static int op_less(lua_State *L) {
    lua_settop(L, 2);
    order(L, 1, 2, LT);
    lua_pushboolean(L, pv_truth(L, -1));
    return 1;
}

void pv_register_compare(lua_State *L) {
    static const luaL_Reg functions[] = {
        {"Lt", op_lt},       {"TLt", op_lt_true},    {"LtE", op_le},       {"TLtE", op_le_true}, {"Gt", op_gt},
        {"TGt", op_gt_true}, {"GtE", op_ge},         {"TGtE", op_ge_true}, {"Eq", op_eq},        {"TEq", op_eq_true},
        {"NotEq", op_ne},    {"TNotEq", op_ne_true}, {"In", op_in},        {"NotIn", op_not_in}, {"IS", op_is},
        {"equal", op_equal}, {"less", op_less},      {NULL, NULL},
    };
    luaL_setfuncs(L, functions, 0);
}
