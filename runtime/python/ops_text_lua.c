// SPDX-License-Identifier: MIT
// ops_text_lua.c: text of numbers and positions in UTF-8 strings.
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "python/ops_lua.h"

size_t pv_str_length(const char *s, size_t bytes) {
    size_t n = 0;
    for (size_t i = 0; i < bytes; i++) n += ((unsigned char)s[i] & 0xC0) != 0x80;
    return n;
}

// The shortest decimal that reads back as x, as digits and exponent: "d.ddde[+-]xx" cut into parts.
static int shortest(double x, char *digits, int *exponent) {
    char text[40];
    for (int precision = fabs(x) < DBL_MIN ? 1 : 15; precision <= 17; precision++) {
        snprintf(text, sizeof text, "%.*e", precision - 1, x);
        if (strtod(text, NULL) == x) break;
    }
    char *e = strchr(text, 'e');
    *exponent = atoi(e + 1);
    int n = 0;
    for (char *p = text; p < e; p++) {
        if (*p >= '0' && *p <= '9') digits[n++] = *p;
    }
    while (n > 1 && digits[n - 1] == '0') n--;
    digits[n] = 0;
    return n;
}

// float_repr(x) -> text, as CPython's repr(float)
static int op_float_repr(lua_State *L) {
    double x = luaL_checknumber(L, 1);
    if (isnan(x)) {
        lua_pushstring(L, "nan");
    } else if (isinf(x)) {
        lua_pushstring(L, x < 0 ? "-inf" : "inf");
    } else {
        char digits[40], out[80];
        int exponent, n = shortest(fabs(x), digits, &exponent), at = 0;
        if (signbit(x)) out[at++] = '-';
        if (exponent < -4 || exponent >= 16) {
            out[at++] = digits[0];
            if (n > 1) out[at++] = '.';
            for (int i = 1; i < n; i++) out[at++] = digits[i];
            at += snprintf(out + at, sizeof out - (size_t)at, "e%c%02d", exponent < 0 ? '-' : '+', abs(exponent));
        } else if (exponent < 0) {
            out[at++] = '0';
            out[at++] = '.';
            for (int i = exponent + 1; i < 0; i++) out[at++] = '0';
            for (int i = 0; i < n; i++) out[at++] = digits[i];
        } else {
            for (int i = 0; i <= exponent || i < n; i++) {
                if (i == exponent + 1) out[at++] = '.';
                out[at++] = i < n ? digits[i] : '0';
            }
            if (n <= exponent + 1) {
                out[at++] = '.';
                out[at++] = '0';
            }
        }
        lua_pushlstring(L, out, (size_t)at);
    }
    return 1;
}

// FORMAT(site, value, conversion, spec) -> text of an f-string's field. Plain fields are done here.
static int op_format(lua_State *L) {
    pv_site(L, 1);
    if (lua_rawlen(L, 3) == 0 && lua_rawlen(L, 4) == 0) {
        int type = lua_type(L, 2);
        if (type == LUA_TSTRING || (type == LUA_TNUMBER && lua_isinteger(L, 2))) {
            lua_settop(L, 2);
            lua_tostring(L, 2);
            return 1;
        }
    }
    lua_settop(L, 4);
    pv_push_slow(L, SLOW_FORMAT);
    lua_replace(L, 1);
    lua_call(L, 3, 1);
    return 1;
}

// number_text(format letter, precision, alternate, x) -> text by C's printf
static int op_number_text(lua_State *L) {
    const char *letter = luaL_checkstring(L, 1);
    int precision = (int)luaL_checkinteger(L, 2);
    bool alternate = lua_toboolean(L, 3);
    double x = luaL_checknumber(L, 4);
    char format[16], *out;
    if (!strchr("eEfFgG", letter[0]) || precision < 0 || precision > 2000) return luaL_error(L, "bad number format");
    snprintf(format, sizeof format, alternate ? "%%#.*%c" : "%%.*%c", letter[0]);
    size_t room = (size_t)precision + 400;
    out = lua_newuserdatauv(L, room, 0);
    int n = snprintf(out, room, format, precision, x);
    lua_pushlstring(L, out, (size_t)n);
    return 1;
}

// str_length(s) -> code points, bytes
static int op_str_length(lua_State *L) {
    size_t bytes;
    const char *s = luaL_checklstring(L, 1, &bytes);
    lua_pushinteger(L, (lua_Integer)pv_str_length(s, bytes));
    lua_pushinteger(L, (lua_Integer)bytes);
    return 2;
}

// str_points(s) -> table of its code points as strings
static int op_str_points(lua_State *L) {
    size_t bytes;
    const char *s = luaL_checklstring(L, 1, &bytes);
    lua_createtable(L, (int)bytes, 0);
    lua_Integer n = 0;
    for (size_t i = 0; i < bytes;) {
        size_t end = i + 1;
        while (end < bytes && ((unsigned char)s[end] & 0xC0) == 0x80) end++;
        lua_pushlstring(L, s + i, end - i);
        lua_rawseti(L, -2, ++n);
        i = end;
    }
    return 1;
}

// str_slice(s, start, count): ASCII strings only, from 0
static int op_str_slice(lua_State *L) {
    size_t bytes;
    const char *s = luaL_checklstring(L, 1, &bytes);
    lua_Integer start = luaL_checkinteger(L, 2), count = luaL_checkinteger(L, 3);
    if (start < 0 || count < 0 || (size_t)(start + count) > bytes) return luaL_error(L, "str_slice out of range");
    lua_pushlstring(L, s + start, (size_t)count);
    return 1;
}

// c_math(name, x) -> C's function of one argument
static int op_c_math(lua_State *L) {
    static const struct {
        const char *name;
        double (*function)(double);
    } rows[] = {
        {"sinh", sinh},     {"cosh", cosh},     {"tanh", tanh},   {"erf", erf},     {"erfc", erfc},
        {"expm1", expm1},   {"log1p", log1p},   {"asinh", asinh}, {"acosh", acosh}, {"atanh", atanh},
        {"tgamma", tgamma}, {"lgamma", lgamma}, {"cbrt", cbrt},   {"log2", log2},   {"log10", log10},
    };
    const char *name = luaL_checkstring(L, 1);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (strcmp(rows[i].name, name) == 0) {
            lua_pushnumber(L, rows[i].function(luaL_checknumber(L, 2)));
            return 1;
        }
    }
    return luaL_error(L, "no function '%s'", name);
}

// c_frexp(x) -> mantissa, exponent
static int op_c_frexp(lua_State *L) {
    int exponent = 0;
    lua_pushnumber(L, frexp(luaL_checknumber(L, 1), &exponent));
    lua_pushinteger(L, exponent);
    return 2;
}

void pv_register_text(lua_State *L) {
    static const luaL_Reg functions[] = {
        {"FORMAT", op_format},         {"float_repr", op_float_repr}, {"number_text", op_number_text},
        {"str_length", op_str_length}, {"str_points", op_str_points}, {"str_slice", op_str_slice},
        {"c_math", op_c_math},         {"c_frexp", op_c_frexp},       {NULL, NULL},
    };
    luaL_setfuncs(L, functions, 0);
}
