// SPDX-License-Identifier: MIT
// ops_arith_lua.c: arithmetic of lowered Python code. Each helper takes (site, a, b). Numbers are done here, with
// overflow of 64 bits detected; text, containers, objects and errors go to the Lua function `binop`.
#include <math.h>
#include <string.h>

#include "python/ops_lua.h"

enum binop { ADD, SUB, MULT, DIV, FLOORDIV, MOD, POW, MATMULT, LSHIFT, RSHIFT, BITAND, BITOR, BITXOR };

static const char *const binop_names[] = {
    "Add", "Sub", "Mult", "Div", "FloorDiv", "Mod", "Pow", "MatMult", "LShift", "RShift", "BitAnd", "BitOr", "BitXor",
};

// Numbers as Python sees them: a bool is an int.
static int number(lua_State *L, int index, lua_Integer *i, lua_Number *f) {
    switch (lua_type(L, index)) {
    case LUA_TNUMBER:
        if (lua_isinteger(L, index)) {
            *i = lua_tointeger(L, index);
            return 1;
        }
        *f = lua_tonumber(L, index);
        return 2;
    case LUA_TBOOLEAN: *i = lua_toboolean(L, index); return 1;
    default: return 0;
    }
}

static int push_int(lua_State *L, lua_Integer value) {
    lua_pushinteger(L, value);
    return 1;
}

static int push_float(lua_State *L, lua_Number value) {
    lua_pushnumber(L, value);
    return 1;
}

// Quotient of two ints as the nearest double; beyond 2^53 the division is done with more bits before it is rounded.
static double int_quotient(lua_Integer a, lua_Integer b) {
    const lua_Integer exact = (lua_Integer)1 << 53;
    if (a <= exact && a >= -exact && b <= exact && b >= -exact) return (double)a / (double)b;
    return (double)((long double)a / (long double)b);
}

// CPython's float divmod: the remainder takes the divisor's sign, the quotient is exact where a/b rounds up.
static double float_mod(double a, double b, double *quotient) {
    double mod = fmod(a, b);
    double div = (a - mod) / b;
    if (mod != 0) {
        if ((b < 0) != (mod < 0)) {
            mod += b;
            div -= 1.0;
        }
    } else {
        mod = copysign(0.0, b);
    }
    if (div != 0) {
        double floored = floor(div);
        if (div - floored > 0.5) floored += 1.0;
        *quotient = floored;
    } else {
        *quotient = copysign(0.0, a / b);
    }
    return mod;
}

static lua_Integer int_floordiv(lua_State *L, lua_Integer a, lua_Integer b) {
    if (b == -1) {
        lua_Integer out;
        if (__builtin_sub_overflow((lua_Integer)0, a, &out)) pv_overflow(L);
        return out;
    }
    lua_Integer q = a / b;
    if ((a % b != 0) && ((a ^ b) < 0)) q -= 1;
    return q;
}

static lua_Integer int_mod(lua_Integer a, lua_Integer b) {
    if (b == -1) return 0;
    lua_Integer m = a % b;
    if (m != 0 && (m ^ b) < 0) m += b;
    return m;
}

static lua_Integer int_pow(lua_State *L, lua_Integer base, lua_Integer exponent) {
    lua_Integer result = 1;
    while (exponent > 0) {
        if (exponent & 1) {
            if (__builtin_mul_overflow(result, base, &result)) pv_overflow(L);
        }
        exponent >>= 1;
        if (exponent > 0 && __builtin_mul_overflow(base, base, &base)) pv_overflow(L);
    }
    return result;
}

static int float_pow(lua_State *L, double a, double b) {
    if (a == 0 && b < 0 && isfinite(b)) pv_raise(L, "ZeroDivisionError", "0.0 cannot be raised to a negative power");
    if (a < 0 && b != floor(b) && isfinite(b) && isfinite(a)) {
        pv_raise(L, "ValueError", "a negative number raised to a fractional power is complex, which is not supported");
    }
    double r = pow(a, b);
    if (isinf(r) && isfinite(a) && isfinite(b)) pv_raise(L, "OverflowError", "(34, 'Numerical result out of range')");
    return push_float(L, r);
}

static int int_op(lua_State *L, enum binop op, lua_Integer a, lua_Integer b) {
    lua_Integer out;
    switch (op) {
    case ADD:
        if (__builtin_add_overflow(a, b, &out)) pv_overflow(L);
        return push_int(L, out);
    case SUB:
        if (__builtin_sub_overflow(a, b, &out)) pv_overflow(L);
        return push_int(L, out);
    case MULT:
        if (__builtin_mul_overflow(a, b, &out)) pv_overflow(L);
        return push_int(L, out);
    case DIV:
        if (b == 0) pv_raise(L, "ZeroDivisionError", "division by zero");
        return push_float(L, int_quotient(a, b));
    case FLOORDIV:
        if (b == 0) pv_raise(L, "ZeroDivisionError", "integer division or modulo by zero");
        return push_int(L, int_floordiv(L, a, b));
    case MOD:
        if (b == 0) pv_raise(L, "ZeroDivisionError", "integer modulo by zero");
        return push_int(L, int_mod(a, b));
    case POW:
        if (b >= 0) return push_int(L, int_pow(L, a, b));
        return float_pow(L, (double)a, (double)b);
    case LSHIFT:
        if (b < 0) pv_raise(L, "ValueError", "negative shift count");
        if (a == 0) return push_int(L, 0);
        if (b > 62) pv_overflow(L);
        if (__builtin_mul_overflow(a, (lua_Integer)1 << b, &out)) pv_overflow(L);
        return push_int(L, out);
    case RSHIFT:
        if (b < 0) pv_raise(L, "ValueError", "negative shift count");
        return push_int(L, b > 63 ? (a < 0 ? -1 : 0) : a >> b);
    case BITAND: return push_int(L, a & b);
    case BITOR: return push_int(L, a | b);
    case BITXOR: return push_int(L, a ^ b);
    case MATMULT: break;
    }
    return 0;
}

static int float_op(lua_State *L, enum binop op, double a, double b) {
    double quotient;
    switch (op) {
    case ADD: return push_float(L, a + b);
    case SUB: return push_float(L, a - b);
    case MULT: return push_float(L, a * b);
    case DIV:
        if (b == 0) pv_raise(L, "ZeroDivisionError", "float division by zero");
        return push_float(L, a / b);
    case FLOORDIV:
        if (b == 0) pv_raise(L, "ZeroDivisionError", "float floor division by zero");
        float_mod(a, b, &quotient);
        return push_float(L, quotient);
    case MOD:
        if (b == 0) pv_raise(L, "ZeroDivisionError", "float modulo");
        return push_float(L, float_mod(a, b, &quotient));
    case POW: return float_pow(L, a, b);
    default: return 0;
    }
}

static int slow(lua_State *L, enum binop op, bool inplace) {
    pv_push_slow(L, SLOW_BINOP);
    lua_pushstring(L, binop_names[op]);
    lua_pushvalue(L, 2);
    lua_pushvalue(L, 3);
    lua_pushboolean(L, inplace);
    lua_call(L, 4, 1);
    return 1;
}

static inline int binary(lua_State *L, enum binop op, bool inplace) {
    if (op <= MULT && lua_isinteger(L, 2) && lua_isinteger(L, 3)) {
        lua_Integer a = lua_tointeger(L, 2), b = lua_tointeger(L, 3), out;
        bool over = op == ADD   ? __builtin_add_overflow(a, b, &out)
                    : op == SUB ? __builtin_sub_overflow(a, b, &out)
                                : __builtin_mul_overflow(a, b, &out);
        if (!over) return push_int(L, out);
    }
    lua_Integer ia = 0, ib = 0;
    lua_Number fa = 0, fb = 0;
    int ta = number(L, 2, &ia, &fa), tb = number(L, 3, &ib, &fb);
    pv_site(L, 1);
    if (ta && tb) {
        int pushed;
        if (ta == 1 && tb == 1) {
            if (op >= BITAND && lua_isboolean(L, 2) && lua_isboolean(L, 3)) {
                int_op(L, op, ia, ib);
                lua_pushboolean(L, lua_tointeger(L, -1) != 0);
                return 1;
            }
            pushed = int_op(L, op, ia, ib);
        } else {
            pushed = float_op(L, op, ta == 1 ? (double)ia : fa, tb == 1 ? (double)ib : fb);
        }
        if (pushed) return pushed;
    }
    return slow(L, op, inplace);
}

#define BINARY(name, op)                                                                                               \
    static int op_##name(lua_State *L) { return binary(L, op, false); }                                                \
    static int op_i##name(lua_State *L) { return binary(L, op, true); }

BINARY(add, ADD)
BINARY(sub, SUB)
BINARY(mult, MULT)
BINARY(div, DIV)
BINARY(floordiv, FLOORDIV)
BINARY(mod, MOD)
BINARY(pow, POW)
BINARY(matmult, MATMULT)
BINARY(lshift, LSHIFT)
BINARY(rshift, RSHIFT)
BINARY(bitand, BITAND)
BINARY(bitor, BITOR)
BINARY(bitxor, BITXOR)

static int unary_slow(lua_State *L, const char *op) {
    if (pv_hook(L, 2, "__pyunop")) {
        lua_pushstring(L, op);
        lua_pushvalue(L, 2);
        lua_call(L, 2, 1);
        if (!lua_isnil(L, -1)) return 1;
    }
    const char *sign = op[0] == 'I' ? "~" : op[1] == 'S' ? "-" : "+";
    pv_raise(L, "TypeError", "bad operand type for unary %s: '%s'", sign, pv_type_name(L, 2));
}

static int op_neg(lua_State *L) {
    lua_Integer i = 0;
    lua_Number f = 0;
    pv_site(L, 1);
    switch (number(L, 2, &i, &f)) {
    case 1:
        if (__builtin_sub_overflow((lua_Integer)0, i, &i)) pv_overflow(L);
        return push_int(L, i);
    case 2: return push_float(L, -f);
    default: return unary_slow(L, "USub");
    }
}

static int op_pos(lua_State *L) {
    lua_Integer i = 0;
    lua_Number f = 0;
    pv_site(L, 1);
    switch (number(L, 2, &i, &f)) {
    case 1: return push_int(L, i);
    case 2: return push_float(L, f);
    default: return unary_slow(L, "UAdd");
    }
}

static int op_invert(lua_State *L) {
    lua_Integer i = 0;
    lua_Number f = 0;
    pv_site(L, 1);
    if (number(L, 2, &i, &f) == 1) return push_int(L, ~i);
    return unary_slow(L, "Invert");
}

// arith(op, a, b) -> value or nil: numbers only, for Lua code that computes as Python does.
static int op_arith(lua_State *L) {
    const char *name = luaL_checkstring(L, 1);
    for (int op = 0; op <= BITXOR; op++) {
        if (strcmp(binop_names[op], name) == 0) {
            lua_Integer ia = 0, ib = 0;
            lua_Number fa = 0, fb = 0;
            int ta = number(L, 2, &ia, &fa), tb = number(L, 3, &ib, &fb);
            if (!ta || !tb) return 0;
            if (ta == 1 && tb == 1) return int_op(L, (enum binop)op, ia, ib);
            return float_op(L, (enum binop)op, ta == 1 ? (double)ia : fa, tb == 1 ? (double)ib : fb);
        }
    }
    return 0;
}

void pv_register_arith(lua_State *L) {
    static const luaL_Reg functions[] = {
        {"Add", op_add},
        {"IAdd", op_iadd},
        {"Sub", op_sub},
        {"ISub", op_isub},
        {"Mult", op_mult},
        {"IMult", op_imult},
        {"Div", op_div},
        {"IDiv", op_idiv},
        {"FloorDiv", op_floordiv},
        {"IFloorDiv", op_ifloordiv},
        {"Mod", op_mod},
        {"IMod", op_imod},
        {"Pow", op_pow},
        {"IPow", op_ipow},
        {"MatMult", op_matmult},
        {"IMatMult", op_imatmult},
        {"LShift", op_lshift},
        {"ILShift", op_ilshift},
        {"RShift", op_rshift},
        {"IRShift", op_irshift},
        {"BitAnd", op_bitand},
        {"IBitAnd", op_ibitand},
        {"BitOr", op_bitor},
        {"IBitOr", op_ibitor},
        {"BitXor", op_bitxor},
        {"IBitXor", op_ibitxor},
        {"USub", op_neg},
        {"UAdd", op_pos},
        {"Invert", op_invert},
        {"arith", op_arith},
        {NULL, NULL},
    };
    luaL_setfuncs(L, functions, 0);
}
