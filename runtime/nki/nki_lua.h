// SPDX-License-Identifier: MIT
// nki_lua.h: what the files of the binding `rt.nki` share.
//
// A machine is a userdata; its user values anchor the symbol table (NKI object -> kind and number) and the values of
// the Python side. A tensor is a userdata holding a struct nki_view, without a finaliser: its user value is the handle
// of the storage, whose finaliser gives the bytes back. Functions here may raise.
#ifndef NKILN_NKI_LUA_H
#define NKILN_NKI_LUA_H

#include <lauxlib.h>
#include <lua.h>

#include "nki/machine.h"

enum nki_symbol {
    SYMBOL_OP = 1,
    SYMBOL_ENGINE,
    SYMBOL_REDUCE_CMD,
    SYMBOL_DGE,
    SYMBOL_OOB,
    SYMBOL_PERF,
    SYMBOL_BUFFER,
    SYMBOL_DTYPE
};
enum { UV_SYMBOLS = 1, UV_NONE, UV_TUPLE, UV_VIEW_MT, UV_BUFFERS, UV_HANDLE_MT, UV_COUNT = UV_HANDLE_MT };

struct nki_box_machine {
    struct nki_machine m;
    bool open;
    const void *none_at;    // address of Python's None
    const void *view_mt_at; // address of the tensors' metatable
};

struct nki_handle {
    struct nki_storage *st;
    struct nki_box_machine *owner; // kept alive by user value 1
    // User value 2: the array whose bytes a storage borrows.
};

// The machine of a function made with it as upvalue 1; sets its site.
struct nki_box_machine *nki_self(lua_State *L);
struct nki_box_machine *nki_check_machine(lua_State *L); // argument 1
void nki_raise(lua_State *L, struct nki_box_machine *b) __attribute__((noreturn));
void nki_push_error(lua_State *L, const struct nki_error *err);
void nki_bad_argument(lua_State *L, struct nki_box_machine *b, int index, const char *name, const char *code,
                      const char *want) __attribute__((noreturn));
// Push a tensor over a storage that has a handle at `handle`.
struct nki_view *nki_push_view(lua_State *L, struct nki_box_machine *b, const struct nki_view *view, int handle);
// Push a tensor over a fresh storage: makes the handle. The machine userdata is at `machine`.
void nki_push_fresh(lua_State *L, struct nki_box_machine *b, const struct nki_view *view, int machine);
struct nki_view *nki_to_view(lua_State *L, struct nki_box_machine *b, int index); // NULL: no tensor
bool nki_is_none(lua_State *L, const struct nki_box_machine *b, int index);       // None or nil
// Integers of a tuple, list or one integer; count, or -1 when it is none of them. At most max.
int nki_integers(lua_State *L, int index, int64_t *out, int max);
bool nki_integer(lua_State *L, int index, int64_t *out); // int or bool

void nki_view_metatable(lua_State *L); // push a new metatable with upvalues taken from the machine at stack index 1
void nki_register_instructions(lua_State *L, int machine, int symbols);
void nki_record_metatable(lua_State *L);
int nki_lua_record(lua_State *L);
// Contents of an input from the array at `index`; true when it is one. The tensor is at `tensor`.
bool nki_input_array(lua_State *L, struct nki_box_machine *b, struct nki_storage *st, int index, int tensor);
int nki_output_array(lua_State *L); // m:output_array(tensor)
void nki_load_tables(lua_State *L, struct nki_box_machine *b, int options);

#endif
