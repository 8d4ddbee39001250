// SPDX-License-Identifier: MIT
#include "pack.h"

#include <errno.h>
#include <fcntl.h>
#include <lauxlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define WRITER "nkiln.pack.writer"
#define FD "nkiln.fd"

static int writer_gc(lua_State *L) {
    struct pack_writer *writer = lua_touserdata(L, 1);
    bytebuf_free(&writer->out);
    while (writer->fd_count > 0) close(writer->fds[--writer->fd_count]);
    return 0;
}

struct pack_writer *pack_push_writer(lua_State *L) {
    struct pack_writer *writer = lua_newuserdatauv(L, sizeof *writer, 0);
    memset(writer, 0, sizeof *writer);
    if (luaL_newmetatable(L, WRITER)) {
        lua_pushcfunction(L, writer_gc);
        lua_setfield(L, -2, "__gc");
    }
    lua_setmetatable(L, -2);
    return writer;
}

static void put(lua_State *L, struct pack_writer *w, const void *data, size_t len) {
    if (!bytebuf_append(&w->out, data, len)) luaL_error(L, "not enough memory");
}

static void put_byte(lua_State *L, struct pack_writer *w, char c) { put(L, w, &c, 1); }

static void write_value(lua_State *L, struct pack_writer *w, int index, int depth);

static void write_table(lua_State *L, struct pack_writer *w, int index, int depth) {
    // '{' count-of-sequence, its values, then key/value pairs, '}'.
    uint32_t n = (uint32_t)lua_rawlen(L, index);
    put_byte(L, w, '{');
    put(L, w, &n, sizeof n);
    for (lua_Integer i = 1; i <= (lua_Integer)n; i++) {
        lua_rawgeti(L, index, i);
        write_value(L, w, lua_gettop(L), depth);
        lua_pop(L, 1);
    }
    lua_pushnil(L);
    while (lua_next(L, index)) {
        int key = lua_gettop(L) - 1;
        lua_Integer k = lua_isinteger(L, key) ? lua_tointeger(L, key) : 0;
        if (k < 1 || k > (lua_Integer)n) {
            write_value(L, w, key, depth);
            write_value(L, w, key + 1, depth);
        }
        lua_pop(L, 1);
    }
    put_byte(L, w, '}');
}

static void write_custom(lua_State *L, struct pack_writer *w, int index, int depth) {
    if (luaL_testudata(L, index, FD)) {
        if (w->fd_count == PACK_FDS) luaL_error(L, "too many descriptors in one message");
        int fd = fcntl(pack_check_fd(L, index), F_DUPFD_CLOEXEC, 3); // the object may go away before the message is sent
        if (fd < 0) luaL_error(L, "cannot send a descriptor: %s", strerror(errno));
        w->fds[w->fd_count++] = fd;
        put_byte(L, w, 'h');
        return;
    }
    if (luaL_getmetafield(L, index, "__pack") == LUA_TNIL)
        luaL_error(L, "cannot send a %s to another process", luaL_typename(L, index));
    lua_pushvalue(L, index);
    lua_call(L, 1, 2);
    put_byte(L, w, 'm');
    write_value(L, w, lua_gettop(L) - 1, depth);
    write_value(L, w, lua_gettop(L), depth);
    lua_pop(L, 2);
}

static void write_value(lua_State *L, struct pack_writer *w, int index, int depth) {
    if (depth > PACK_DEPTH) luaL_error(L, "value is nested too deeply (or contains itself)");
    luaL_checkstack(L, 8, "value is nested too deeply");
    switch (lua_type(L, index)) {
    case LUA_TNIL: put_byte(L, w, 'n'); break;
    case LUA_TBOOLEAN: put_byte(L, w, lua_toboolean(L, index) ? 't' : 'f'); break;
    case LUA_TNUMBER:
        if (lua_isinteger(L, index)) {
            lua_Integer v = lua_tointeger(L, index);
            put_byte(L, w, 'i');
            put(L, w, &v, sizeof v);
        } else {
            lua_Number v = lua_tonumber(L, index);
            put_byte(L, w, 'd');
            put(L, w, &v, sizeof v);
        }
        break;
    case LUA_TSTRING: {
        size_t len;
        const char *s = lua_tolstring(L, index, &len);
        uint64_t n = len;
        put_byte(L, w, 's');
        put(L, w, &n, sizeof n);
        put(L, w, s, len);
        break;
    }
    case LUA_TTABLE:
        if (luaL_getmetafield(L, index, "__pack") != LUA_TNIL) {
            lua_pop(L, 1);
            write_custom(L, w, index, depth + 1);
        } else {
            write_table(L, w, index, depth + 1);
        }
        break;
    case LUA_TUSERDATA: write_custom(L, w, index, depth + 1); break;
    default: luaL_error(L, "cannot send a %s to another process", luaL_typename(L, index));
    }
}

void pack_write(lua_State *L, struct pack_writer *writer, int index) { write_value(L, writer, lua_absindex(L, index), 0); }

struct reader {
    const char *p, *end;
    int *fds;
    int fd_count, fd_next;
};

static const char *take(lua_State *L, struct reader *r, size_t n) {
    if ((size_t)(r->end - r->p) < n) luaL_error(L, "malformed message: it ends early");
    const char *p = r->p;
    r->p += n;
    return p;
}

static void read_value(lua_State *L, struct reader *r, int depth);

static void read_table(lua_State *L, struct reader *r, int depth) {
    uint32_t n;
    memcpy(&n, take(L, r, sizeof n), sizeof n);
    if (n > (size_t)(r->end - r->p)) luaL_error(L, "malformed message: bad count"); // every value has at least one byte
    lua_createtable(L, (int)(n < 65536 ? n : 65536), 0);
    for (lua_Integer i = 1; i <= (lua_Integer)n; i++) {
        read_value(L, r, depth);
        lua_rawseti(L, -2, i);
    }
    while (*take(L, r, 1) != '}') {
        r->p--;
        read_value(L, r, depth);
        if (lua_isnil(L, -1) || (lua_type(L, -1) == LUA_TNUMBER && lua_tonumber(L, -1) != lua_tonumber(L, -1)))
            luaL_error(L, "malformed message: bad key");
        read_value(L, r, depth);
        lua_rawset(L, -3);
    }
}

static void read_custom(lua_State *L, struct reader *r, int depth) {
    read_value(L, r, depth); // module name
    read_value(L, r, depth); // its value
    const char *name = lua_tostring(L, -2);
    // The name may come from a process that is not trusted: only modules that are open already and offer `unpack`.
    if (!name || strncmp(name, "rt.", 3) != 0) luaL_error(L, "malformed message: bad module");
    luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
    if (lua_getfield(L, -1, name) != LUA_TTABLE || lua_getfield(L, -1, "unpack") != LUA_TFUNCTION)
        luaL_error(L, "malformed message: module '%s' cannot unpack here", name);
    lua_pushvalue(L, -4);
    lua_call(L, 1, 1);
    lua_replace(L, -5);
    lua_pop(L, 3);
}

static void read_value(lua_State *L, struct reader *r, int depth) {
    if (depth > PACK_DEPTH) luaL_error(L, "malformed message: nested too deeply");
    luaL_checkstack(L, 8, "message");
    switch (*take(L, r, 1)) {
    case 'n': lua_pushnil(L); break;
    case 't': lua_pushboolean(L, 1); break;
    case 'f': lua_pushboolean(L, 0); break;
    case 'i': {
        lua_Integer v;
        memcpy(&v, take(L, r, sizeof v), sizeof v);
        lua_pushinteger(L, v);
        break;
    }
    case 'd': {
        lua_Number v;
        memcpy(&v, take(L, r, sizeof v), sizeof v);
        lua_pushnumber(L, v);
        break;
    }
    case 's': {
        uint64_t n;
        memcpy(&n, take(L, r, sizeof n), sizeof n);
        if (n > (uint64_t)(r->end - r->p)) luaL_error(L, "malformed message: it ends early");
        lua_pushlstring(L, take(L, r, (size_t)n), (size_t)n);
        break;
    }
    case '{': read_table(L, r, depth + 1); break;
    case 'm': read_custom(L, r, depth + 1); break;
    case 'h':
        if (r->fd_next >= r->fd_count) luaL_error(L, "malformed message: a descriptor is missing");
        pack_push_fd(L, r->fds[r->fd_next]);
        r->fds[r->fd_next++] = -1;
        break;
    default: luaL_error(L, "malformed message: unknown kind of value");
    }
}

void pack_read(lua_State *L, const char *data, size_t len, int *fds, int fd_count) {
    struct reader r = {.p = data, .end = data + len, .fds = fds, .fd_count = fd_count};
    read_value(L, &r, 0);
    if (r.p != r.end) luaL_error(L, "malformed message: %d bytes too many", (int)(r.end - r.p));
}

// Descriptors.

struct fd_object {
    int fd;
};

static int fd_close(lua_State *L) {
    struct fd_object *object = luaL_checkudata(L, 1, FD);
    if (object->fd >= 0) close(object->fd);
    object->fd = -1;
    return 0;
}

static int fd_bytes(lua_State *L) {
    int fd = pack_check_fd(L, 1);
    struct stat st;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        lua_pushnil(L);
        return 1;
    }
    luaL_Buffer b;
    size_t size = (size_t)st.st_size, len = 0;
    char *out = luaL_buffinitsize(L, &b, size);
    while (len < size) { // pread, not mmap: a file that shrinks meanwhile must not end this process
        ssize_t n = pread(fd, out + len, size - len, (off_t)len);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) break;
        len += (size_t)n;
    }
    luaL_pushresultsize(&b, len);
    return 1;
}

static int fd_number(lua_State *L) {
    lua_pushinteger(L, pack_check_fd(L, 1));
    return 1;
}

void pack_push_fd(lua_State *L, int fd) {
    struct fd_object *object = lua_newuserdatauv(L, sizeof *object, 0);
    object->fd = -1;
    if (luaL_newmetatable(L, FD)) {
        static const luaL_Reg methods[] = {
            {"close", fd_close}, {"bytes", fd_bytes}, {"number", fd_number}, {"__gc", fd_close}, {"__close", fd_close}, {NULL, NULL}};
        luaL_setfuncs(L, methods, 0);
        lua_pushvalue(L, -1);
        lua_setfield(L, -2, "__index");
        lua_pushboolean(L, 0);
        lua_setfield(L, -2, "__metatable");
    }
    lua_setmetatable(L, -2);
    object->fd = fd;
}

int pack_check_fd(lua_State *L, int index) {
    struct fd_object *object = luaL_checkudata(L, index, FD);
    if (object->fd < 0) luaL_argerror(L, index, "the descriptor is closed");
    return object->fd;
}

int pack_memfd(const void *data, size_t len) {
    int fd = memfd_create("nkiln", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0) return -1;
    const char *p = data;
    while (len > 0) {
        ssize_t n = write(fd, p, len);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) {
            int saved = errno;
            close(fd);
            errno = saved;
            return -1;
        }
        p += n;
        len -= (size_t)n;
    }
    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL);
    return fd;
}

static int lua_encode(lua_State *L) {
    luaL_checkany(L, 1);
    struct pack_writer *writer = pack_push_writer(L);
    pack_write(L, writer, 1);
    if (writer->fd_count) return luaL_error(L, "a descriptor cannot be written as bytes");
    lua_pushlstring(L, writer->out.data, writer->out.len);
    return 1;
}

static int lua_decode(lua_State *L) {
    size_t len;
    const char *data = luaL_checklstring(L, 1, &len);
    pack_read(L, data, len, NULL, 0);
    return 1;
}

static int lua_new_memfd(lua_State *L) {
    size_t len;
    const char *data = luaL_checklstring(L, 1, &len);
    int fd = pack_memfd(data, len);
    if (fd < 0) {
        lua_pushnil(L);
        lua_pushstring(L, strerror(errno));
        return 2;
    }
    pack_push_fd(L, fd);
    return 1;
}

int luaopen_rt_pack(lua_State *L) {
    static const luaL_Reg functions[] = {{"encode", lua_encode}, {"decode", lua_decode}, {"memfd", lua_new_memfd}, {NULL, NULL}};
    luaL_newlib(L, functions);
    return 1;
}
