// SPDX-License-Identifier: MIT
// fs_lua.c: rt.fs. A thin binding of fs.h.
//
//   fs.root(path, {read=true, write=true}) -> root. Methods: read(path[, limit]) write(path, bytes) append(path, bytes)
//   create(path, bytes): a new file; "exists" when the name is taken
//   replace(path, bytes) -> the content that was there at that moment, or true for a new file
//   list(path) -> names; entries(path) -> {{name=, type=}}; stat(path[, nofollow]) mkdir(path[, parents]) remove(path[, recursive])
//   copy(from, to) rename(from, to) exists(path) realpath(path) glob(pattern) path() close()
//   The same functions without a root serve trusted code: fs.read(path) ...
//   fs.home() fs.cwd() fs.tmpdir() fs.mkdtemp([prefix]) fs.lock(path[, {shared=, wait=seconds}]) fs.sha256(bytes)
// A failure of the world returns nil, {code=, message=, op=, path=}.
#include <errno.h>
#include <fcntl.h>
#include <lauxlib.h>
#include <lua.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "fs.h"
#include "sha256.h"

#define ROOT "nkiln.fs.root"
#define GUARD "nkiln.fs.guard"
#define LOCK "nkiln.fs.lock"
#define READ_LIMIT (64 << 20) // bytes, where the caller names no limit

// What must be given back when Lua raises (out of memory) in the middle of a call.
struct guard {
    int fd;
    struct fs_list list;
};

static struct guard *new_guard(lua_State *L) {
    struct guard *g = lua_newuserdatauv(L, sizeof *g, 0);
    *g = (struct guard){.fd = -1};
    luaL_setmetatable(L, GUARD);
    return g;
}

static void drop_guard(struct guard *g) {
    if (g->fd >= 0) close(g->fd);
    g->fd = -1;
    fs_list_free(&g->list);
}

static int guard_gc(lua_State *L) {
    drop_guard(luaL_checkudata(L, 1, GUARD));
    return 0;
}

// A path as part of one line of text: control characters escaped, the head of a very long one dropped.
static void push_printable(lua_State *L, const char *path) {
    luaL_Buffer b;
    luaL_buffinit(L, &b);
    if (strlen(path) > 200) {
        path += strlen(path) - 200;
        luaL_addstring(&b, "...");
    }
    for (const unsigned char *p = (const unsigned char *)path; *p; p++) {
        char text[8];
        if (*p >= 32 && *p != 127) luaL_addchar(&b, (char)*p);
        else luaL_addlstring(&b, text, (size_t)snprintf(text, sizeof text, "\\x%02x", *p));
    }
    luaL_pushresult(&b);
}

static int push_failure(lua_State *L, const char *op, const char *path, int error, const char *words) {
    lua_pushnil(L);
    lua_createtable(L, 0, 4);
    lua_pushstring(L, fs_code(error));
    lua_setfield(L, -2, "code");
    lua_pushstring(L, op);
    lua_setfield(L, -2, "op");
    lua_pushstring(L, path);
    lua_setfield(L, -2, "path");
    push_printable(L, path);
    if (!words) words = error == ENOENT && strcmp(op, "read") == 0 ? "no such file" : fs_words(error);
    lua_pushfstring(L, "%s %s: %s", op, lua_tostring(L, -1), words);
    lua_setfield(L, -3, "message");
    lua_pop(L, 1);
    return 2;
}

static int result(lua_State *L, const struct fs_root *root, const char *op, const char *path, int error, bool writes) {
    if (!error) {
        lua_pushboolean(L, 1);
        return 1;
    }
    bool granted = writes ? root->write : root->read;
    return push_failure(L, op, path, error, granted ? NULL : writes ? "writing is not granted here" : "reading is not granted here");
}

// A path argument; NUL bytes inside would cut it silently.
static const char *check_path(lua_State *L, int arg) {
    size_t size;
    const char *path = luaL_checklstring(L, arg, &size);
    luaL_argcheck(L, strlen(path) == size, arg, "a path cannot hold a NUL byte");
    return path;
}

// Push what is left to read of the guard's file (about `size` bytes), and close it.
static int push_content(lua_State *L, struct guard *g, uint64_t size, uint64_t limit) {
    luaL_Buffer b;
    luaL_buffinit(L, &b);
    uint64_t total = 0;
    int error = 0;
    for (;;) {
        size_t room = size > total ? (size_t)(size - total) : 4096;
        char *to = luaL_prepbuffsize(&b, room);
        ssize_t n = read(g->fd, to, room);
        if (n < 0 && errno == EINTR) continue;
        error = n < 0 ? errno : total + (uint64_t)n > limit ? EFBIG : 0; // it may have grown meanwhile
        if (error || n == 0) break;
        luaL_addsize(&b, (size_t)n);
        total += (uint64_t)n;
    }
    luaL_pushresult(&b);
    drop_guard(g);
    return error;
}

static int do_read(lua_State *L, const struct fs_root *root, int arg) {
    const char *path = check_path(L, arg);
    lua_Integer limit = luaL_optinteger(L, arg + 1, READ_LIMIT);
    luaL_argcheck(L, limit >= 0, arg + 1, "a limit is not negative");
    struct guard *g = new_guard(L);
    uint64_t size = 0;
    int error = 0;
    g->fd = fs_open_read(root, path, (uint64_t)limit, &size, &error);
    char words[96];
    if (limit >> 20)
        snprintf(words, sizeof words, "too large (the limit is %.4g MiB)", (double)limit / 1048576);
    else
        snprintf(words, sizeof words, "too large (the limit is %lld bytes)", (long long)limit);
    if (g->fd < 0) return error == EFBIG ? push_failure(L, "read", path, error, words) : result(L, root, "read", path, error, false);
    error = push_content(L, g, size, (uint64_t)limit);
    return error ? push_failure(L, "read", path, error, error == EFBIG ? words : NULL) : 1;
}

// The following piece of a file, from the function below the top; the piece takes the top. An error of the function stays
// there too, and ECANCELED says so.
static int next_piece(void *context, const void **bytes, size_t *size) {
    lua_State *L = context;
    lua_pop(L, 1);
    lua_pushvalue(L, -1);
    if (lua_pcall(L, 0, 1, 0) != LUA_OK) return ECANCELED;
    *bytes = lua_type(L, -1) == LUA_TSTRING ? lua_tolstring(L, -1, size) : (*size = 0, "");
    return 0;
}

static int do_write(lua_State *L, const struct fs_root *root, int arg) {
    if (lua_isfunction(L, arg + 1)) { // gives piece after piece, nil at the end
        const char *to = check_path(L, arg);
        lua_settop(L, arg + 1);
        lua_pushnil(L);
        int error = fs_write_pieces(root, to, next_piece, L);
        if (error == ECANCELED) return lua_error(L);
        return result(L, root, "write", to, error, true);
    }
    size_t size;
    const char *path = check_path(L, arg), *bytes = luaL_checklstring(L, arg + 1, &size);
    return result(L, root, "write", path, fs_write(root, path, bytes, size), true);
}

static int do_create(lua_State *L, const struct fs_root *root, int arg) {
    size_t size;
    const char *path = check_path(L, arg), *bytes = luaL_checklstring(L, arg + 1, &size);
    return result(L, root, "write", path, fs_create(root, path, bytes, size), true);
}

static int do_replace(lua_State *L, const struct fs_root *root, int arg) {
    size_t size;
    const char *path = check_path(L, arg), *bytes = luaL_checklstring(L, arg + 1, &size);
    struct guard *g = new_guard(L);
    int error = fs_replace(root, path, bytes, size, &g->fd);
    if (error || g->fd < 0) return result(L, root, "write", path, error, true);
    struct stat st;
    error = push_content(L, g, fstat(g->fd, &st) == 0 ? (uint64_t)st.st_size : 0, UINT64_MAX);
    return error ? push_failure(L, "read", path, error, NULL) : 1;
}

static int do_append(lua_State *L, const struct fs_root *root, int arg) {
    size_t size;
    const char *path = check_path(L, arg), *bytes = luaL_checklstring(L, arg + 1, &size);
    return result(L, root, "append", path, fs_append(root, path, bytes, size), true);
}

static const char *type_name(char letter) {
    return letter == 'f' ? "file" : letter == 'd' ? "directory" : letter == 'l' ? "link" : "other";
}

static int push_list(lua_State *L, struct guard *g, bool types) {
    lua_createtable(L, (int)g->list.count, 0);
    for (size_t i = 0; i < g->list.count; i++) {
        if (types) {
            lua_createtable(L, 0, 2);
            lua_pushstring(L, g->list.entries[i].name);
            lua_setfield(L, -2, "name");
            lua_pushstring(L, type_name(g->list.entries[i].type));
            lua_setfield(L, -2, "type");
        } else
            lua_pushstring(L, g->list.entries[i].name);
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    drop_guard(g);
    return 1;
}

static int list_with(lua_State *L, const struct fs_root *root, int arg, bool types) {
    const char *path = lua_isnoneornil(L, arg) ? "." : check_path(L, arg);
    struct guard *g = new_guard(L);
    int error = fs_list_folder(root, path, &g->list);
    return error ? result(L, root, "list", path, error, false) : push_list(L, g, types);
}

static int do_list(lua_State *L, const struct fs_root *root, int arg) { return list_with(L, root, arg, false); }
static int do_entries(lua_State *L, const struct fs_root *root, int arg) { return list_with(L, root, arg, true); }

static int do_glob(lua_State *L, const struct fs_root *root, int arg) {
    const char *pattern = check_path(L, arg);
    struct guard *g = new_guard(L);
    int error = fs_glob(root, pattern, &g->list);
    return error ? result(L, root, "glob", pattern, error, false) : push_list(L, g, false);
}

static int do_stat(lua_State *L, const struct fs_root *root, int arg) {
    const char *path = check_path(L, arg);
    struct stat st;
    int error = fs_stat(root, path, !lua_toboolean(L, arg + 1), &st);
    if (error) return result(L, root, "stat", path, error, false);
    const struct {
        const char *name;
        lua_Integer value;
    } fields[] = {
        {"size", (lua_Integer)st.st_size},
        {"mode", (lua_Integer)(st.st_mode & 07777)},
        {"mtime_ns", (lua_Integer)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec},
        {"inode", (lua_Integer)st.st_ino},
        {"device", (lua_Integer)st.st_dev},
        {"links", (lua_Integer)st.st_nlink},
        {"uid", (lua_Integer)st.st_uid},
    };
    lua_createtable(L, 0, 8);
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        lua_pushinteger(L, fields[i].value);
        lua_setfield(L, -2, fields[i].name);
    }
    mode_t m = st.st_mode;
    lua_pushstring(L, type_name(S_ISREG(m) ? 'f' : S_ISDIR(m) ? 'd' : S_ISLNK(m) ? 'l' : 'o'));
    lua_setfield(L, -2, "type");
    return 1;
}

static int do_exists(lua_State *L, const struct fs_root *root, int arg) {
    struct stat st;
    lua_pushboolean(L, fs_stat(root, check_path(L, arg), true, &st) == 0);
    return 1;
}

static int do_mkdir(lua_State *L, const struct fs_root *root, int arg) {
    const char *path = check_path(L, arg);
    return result(L, root, "mkdir", path, fs_mkdir(root, path, lua_toboolean(L, arg + 1)), true);
}

static int do_remove(lua_State *L, const struct fs_root *root, int arg) {
    const char *path = check_path(L, arg);
    return result(L, root, "remove", path, fs_remove(root, path, lua_toboolean(L, arg + 1)), true);
}

static int do_copy(lua_State *L, const struct fs_root *root, int arg) {
    const char *from = check_path(L, arg), *to = check_path(L, arg + 1);
    int error = fs_copy(root, from, to);
    struct stat st;
    bool reading = error && fs_stat(root, from, true, &st) != 0; // name the side that failed
    return result(L, root, "copy", reading ? from : to, error, root->read);
}

static int do_rename(lua_State *L, const struct fs_root *root, int arg) {
    const char *from = check_path(L, arg), *to = check_path(L, arg + 1);
    return result(L, root, "rename", from, fs_rename(root, from, to), true);
}

static int do_realpath(lua_State *L, const struct fs_root *root, int arg) {
    const char *path = check_path(L, arg);
    char real[4096];
    int error = fs_realpath(root, path, real);
    if (error) return result(L, root, "realpath", path, error, false);
    lua_pushstring(L, real);
    return 1;
}

// Each operation as a method of a root and as a function without one.
static const struct fs_root *check_root(lua_State *L) {
    const struct fs_root *root = luaL_checkudata(L, 1, ROOT);
    if (root->fd == -1) luaL_error(L, "this folder is closed");
    return root;
}
#define OPERATION(name)                                                                                                                    \
    static int root_##name(lua_State *L) { return do_##name(L, check_root(L), 2); }                                                        \
    static int any_##name(lua_State *L) { return do_##name(L, &fs_anywhere, 1); }
OPERATION(read)
OPERATION(write)
OPERATION(replace)
OPERATION(create)
OPERATION(append)
OPERATION(list)
OPERATION(entries)
OPERATION(glob)
OPERATION(stat)
OPERATION(exists)
OPERATION(mkdir)
OPERATION(remove)
OPERATION(copy)
OPERATION(rename)
OPERATION(realpath)

static int root_close(lua_State *L) {
    fs_root_close(luaL_checkudata(L, 1, ROOT));
    return 0;
}

static int root_path(lua_State *L) {
    lua_pushstring(L, check_root(L)->path);
    return 1;
}

static int open_root(lua_State *L) {
    const char *path = check_path(L, 1);
    bool rights[2] = {true, false}, walk = false;
    if (!lua_isnoneornil(L, 2)) {
        luaL_checktype(L, 2, LUA_TTABLE);
        lua_getfield(L, 2, "read");
        rights[0] = lua_toboolean(L, -1);
        lua_getfield(L, 2, "write");
        rights[1] = lua_toboolean(L, -1);
        lua_getfield(L, 2, "walk"); // for tests: resolve as on a kernel without openat2
        walk = lua_toboolean(L, -1);
    }
    struct fs_root *root = lua_newuserdatauv(L, sizeof *root, 0);
    *root = (struct fs_root){.fd = -1, .confined = true};
    luaL_setmetatable(L, ROOT);
    int error = fs_root_open(root, path, rights[0], rights[1]);
    root->walk = walk;
    return error ? push_failure(L, "open", path, error, NULL) : 1;
}

static int home(lua_State *L) {
    const char *path = getenv("HOME");
    if (!path || path[0] != '/') {
        const struct passwd *user = getpwuid(getuid());
        path = user ? user->pw_dir : NULL;
    }
    if (!path || path[0] != '/') return push_failure(L, "home", "HOME", ENOENT, "this user has no home folder");
    lua_pushstring(L, path);
    return 1;
}

static int cwd(lua_State *L) {
    char path[4096];
    if (!getcwd(path, sizeof path)) return push_failure(L, "cwd", ".", errno, NULL);
    lua_pushstring(L, path);
    return 1;
}

static const char *temporary_folder(void) {
    const char *path = getenv("TMPDIR");
    return path && path[0] == '/' ? path : "/tmp";
}

static int tmpdir(lua_State *L) {
    lua_pushstring(L, temporary_folder());
    return 1;
}

static int make_tmpdir(lua_State *L) {
    char path[4096];
    const char *prefix = luaL_optstring(L, 1, "nkiln");
    luaL_argcheck(L, !strchr(prefix, '/'), 1, "a prefix is one name");
    int n = snprintf(path, sizeof path, "%s/%s-XXXXXX", temporary_folder(), prefix);
    if (n < 0 || (size_t)n >= sizeof path) return push_failure(L, "mkdir", prefix, ENAMETOOLONG, NULL);
    if (!mkdtemp(path)) return push_failure(L, "mkdir", path, errno, NULL);
    lua_pushstring(L, path);
    return 1;
}

static int lock_release(lua_State *L) {
    int *fd = luaL_checkudata(L, 1, LOCK);
    if (*fd >= 0) close(*fd);
    *fd = -1;
    return 0;
}

static int lock(lua_State *L) {
    const char *path = check_path(L, 1);
    bool shared = false;
    double wait = 0;
    if (!lua_isnoneornil(L, 2)) {
        luaL_checktype(L, 2, LUA_TTABLE);
        lua_getfield(L, 2, "shared");
        shared = lua_toboolean(L, -1);
        lua_getfield(L, 2, "wait");
        wait = luaL_optnumber(L, -1, 0);
    }
    int *fd = lua_newuserdatauv(L, sizeof *fd, 0);
    *fd = -1;
    luaL_setmetatable(L, LOCK);
    int error = 0;
    for (double waited = 0;; waited += 0.01) {
        *fd = fs_lock(path, shared, &error);
        if (*fd >= 0) return 1;
        if (error != EAGAIN || waited >= wait) return push_failure(L, "lock", path, error, NULL);
        nanosleep(&(struct timespec){0, 10000000}, NULL);
    }
}

static int sha256(lua_State *L) {
    size_t size;
    const char *bytes = luaL_checklstring(L, 1, &size);
    struct sha256 h;
    unsigned char digest[32];
    char text[65];
    sha256_init(&h);
    sha256_update(&h, bytes, size);
    sha256_final(&h, digest);
    sha256_hex(digest, text);
    lua_pushlstring(L, text, 64);
    return 1;
}

#define METHOD(name) {#name, root_##name}
#define FUNCTION(name) {#name, any_##name}

int luaopen_rt_fs(lua_State *L);
int luaopen_rt_fs(lua_State *L) {
    static const luaL_Reg methods[] = {
        METHOD(read), METHOD(write), METHOD(replace), METHOD(create), METHOD(append), METHOD(list), METHOD(entries), METHOD(glob), METHOD(stat),
        METHOD(exists), METHOD(mkdir),
        METHOD(remove), METHOD(copy), METHOD(rename), METHOD(realpath), METHOD(path), METHOD(close), {NULL, NULL},
    };
    static const luaL_Reg functions[] = {
        FUNCTION(read), FUNCTION(write), FUNCTION(replace), FUNCTION(create), FUNCTION(append), FUNCTION(list), FUNCTION(entries), FUNCTION(glob), FUNCTION(stat),
        FUNCTION(exists), FUNCTION(mkdir), FUNCTION(remove), FUNCTION(copy), FUNCTION(rename), FUNCTION(realpath),
        {"root", open_root}, {"home", home}, {"cwd", cwd}, {"tmpdir", tmpdir}, {"mkdtemp", make_tmpdir}, {"lock", lock},
        {"sha256", sha256}, {NULL, NULL},
    };
    static const luaL_Reg root_meta[] = {{"__gc", root_close}, {"__close", root_close}, {NULL, NULL}};
    static const luaL_Reg lock_meta[] = {{"__gc", lock_release}, {"__close", lock_release}, {NULL, NULL}};
    static const luaL_Reg lock_methods[] = {{"release", lock_release}, {NULL, NULL}};
    static const luaL_Reg guard_meta[] = {{"__gc", guard_gc}, {NULL, NULL}};
    luaL_newmetatable(L, GUARD);
    luaL_setfuncs(L, guard_meta, 0);
    luaL_newmetatable(L, ROOT);
    luaL_setfuncs(L, root_meta, 0);
    luaL_newlib(L, methods);
    lua_setfield(L, -2, "__index");
    lua_pushboolean(L, 0);
    lua_setfield(L, -2, "__metatable");
    luaL_newmetatable(L, LOCK);
    luaL_setfuncs(L, lock_meta, 0);
    luaL_newlib(L, lock_methods);
    lua_setfield(L, -2, "__index");
    lua_pushboolean(L, 0);
    lua_setfield(L, -2, "__metatable");
    lua_pop(L, 3);
    luaL_newlib(L, functions);
    return 1;
}
