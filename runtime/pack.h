// SPDX-License-Identifier: MIT
// pack.h: Lua values as bytes, for frames between processes and states. nil, booleans, integers, floats (bit exact),
// strings, nested tables without cycles, and descriptors (rt.pack.fd). Other values can take part through their
// metatable: `__pack(value)` returns the name of an "rt.*" module and a packable value; that module's `unpack` gets it.
//
// Functions here may raise. Reading trusts nothing: lengths and depth are checked against what is there. A reader
// takes over the descriptors it is given.
#ifndef NKILN_PACK_H
#define NKILN_PACK_H

#include <lua.h>
#include <stdbool.h>

#include "bytebuf.h"

enum { PACK_DEPTH = 100, PACK_FDS = 16 };

struct pack_writer {
    struct bytebuf out;
    int fds[PACK_FDS]; // duplicates, closed with the writer
    int fd_count;
};

// Push an empty writer (userdata, freed with it).
struct pack_writer *pack_push_writer(lua_State *L);
void pack_write(lua_State *L, struct pack_writer *writer, int index);

// Push the value in `data`. On malformed input raises. Descriptors used get the value -1 in `fds`.
void pack_read(lua_State *L, const char *data, size_t len, int *fds, int fd_count);

// A descriptor as a Lua value: closed with it, or by :close(). Takes over `fd`.
void pack_push_fd(lua_State *L, int fd);
int pack_check_fd(lua_State *L, int index);

// An anonymous file with these bytes, sealed; -1 with errno on failure. Never raises.
int pack_memfd(const void *data, size_t len);

int luaopen_rt_pack(lua_State *L);

#endif
