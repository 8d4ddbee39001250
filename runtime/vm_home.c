// SPDX-License-Identifier: MIT
// vm_home.c: where the program's Lua files are, and `require` for them.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <lauxlib.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "embed.h"
#include "modules.h"
#include "vm.h"

static const char home_key = 0;

static bool holds_prelude(const char *folder) {
    char path[PATH_MAX];
    struct stat st;
    if ((size_t)snprintf(path, sizeof path, "%s/prelude", folder) >= sizeof path) return false;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

// NKILN_HOME, else next to the executable (build/nkiln, build/asan/nkiln), else where `make install` puts it.
static bool find_home(char *out) {
    const char *given = getenv("NKILN_HOME");
    if (given) return *given && holds_prelude(given) && realpath(given, out);
    static const char *const below[] = {"..", "../..", "../share/nkiln"};
    char exe[PATH_MAX], path[PATH_MAX + 32];
    ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);
    if (n <= 0) return false;
    exe[n] = 0;
    char *slash = strrchr(exe, '/');
    if (!slash) return false;
    *slash = 0;
    for (size_t i = 0; i < sizeof below / sizeof *below; i++) {
        // Only a folder named "build" has the sources around it; an installed bin/ must not pick up a stranger's prelude.
        const char *last = strrchr(exe, '/');
        bool in_build = last && (i == 0 ? strcmp(last, "/build") == 0 : strstr(exe, "/build/") != NULL);
        if (i < 2 && !in_build) continue;
        snprintf(path, sizeof path, "%s/%s", exe, below[i]);
        if (holds_prelude(path) && realpath(path, out)) return true;
    }
    return false;
}

void vm_set_home(lua_State *L, const char *home) {
    if (home && *home)
        lua_pushstring(L, home);
    else
        lua_pushboolean(L, 0);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &home_key);
}

const char *vm_home(lua_State *L) {
    if (lua_rawgetp(L, LUA_REGISTRYINDEX, &home_key) == LUA_TNIL) {
        char path[PATH_MAX];
        vm_set_home(L, find_home(path) ? path : "");
        lua_pop(L, 1);
        lua_rawgetp(L, LUA_REGISTRYINDEX, &home_key);
    }
    const char *home = lua_tostring(L, -1); // NULL for false; anchored in the registry
    lua_pop(L, 1);
    return home;
}

bool vm_resource_name_ok(const char *path) {
    if (!*path || *path == '/') return false;
    for (const char *p = path; *p;) {
        size_t n = strcspn(p, "/");
        if (n == 0 || (n == 1 && p[0] == '.') || (n == 2 && p[0] == '.' && p[1] == '.')) return false;
        p += n;
        if (*p) p++;
    }
    return path[strlen(path) - 1] != '/';
}

static bool push_file(lua_State *L, const char *path) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    struct stat st;
    char *data = NULL;
    size_t len = 0;
    bool ok = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size < (1 << 28) && (data = malloc((size_t)st.st_size + 1));
    while (ok && len < (size_t)st.st_size) {
        ssize_t n = read(fd, data + len, (size_t)st.st_size - len);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) break;
        len += (size_t)n;
    }
    close(fd);
    if (ok) lua_pushlstring(L, data, len);
    free(data);
    return ok;
}

bool vm_push_resource(lua_State *L, const char *path) {
    if (!vm_resource_name_ok(path)) return false;
    const char *home = vm_home(L);
    char full[PATH_MAX];
    if (home && (size_t)snprintf(full, sizeof full, "%s/%s", home, path) < sizeof full && push_file(L, full)) return true;
    for (const struct embed_file *f = embed_files; f->name; f++)
        if (strcmp(f->name, path) == 0) {
            lua_pushlstring(L, f->data, (size_t)(f->end - f->data));
            return true;
        }
    return false;
}

// Push the loaded chunk of prelude module `name` and its path; or return false. Raises on a syntax error.
static bool push_module(lua_State *L, const char *name, int env) {
    static const char *const forms[] = {"prelude/%s.lua", "prelude/%s/init.lua"};
    const char *slashed = luaL_gsub(L, name, ".", "/");
    for (int i = 0; i < 2; i++) {
        const char *path = lua_pushfstring(L, forms[i], slashed);
        if (vm_push_resource(L, path)) {
            size_t len;
            const char *source = lua_tolstring(L, -1, &len);
            const char *chunk = lua_pushfstring(L, "@%s", path);
            if (luaL_loadbufferx(L, source, len, chunk, "t") != LUA_OK)
                luaL_error(L, "module '%s' does not load: %s", name, lua_tostring(L, -1));
            lua_pushvalue(L, env);
            if (!lua_setupvalue(L, -2, 1)) lua_pop(L, 1);
            lua_pushstring(L, path);
            return true;
        }
        lua_pop(L, 1);
    }
    return false;
}

static const struct module_entry *find_c_module(const char *name) {
    for (const struct module_entry *m = modules_table; m->name; m++)
        if (strcmp(m->name, name) == 0) return m;
    return NULL;
}

// require(name). Upvalues: 1 = loaded modules of this generation, 2 = globals given to its chunks.
static int require(lua_State *L) {
    static const char loading = 0;
    const char *name = luaL_checkstring(L, 1);
    lua_settop(L, 1);
    if (lua_getfield(L, lua_upvalueindex(1), name) != LUA_TNIL) {
        if (lua_touserdata(L, -1) == &loading) return luaL_error(L, "module '%s' requires itself", name);
        return 1;
    }
    lua_pop(L, 1);
    const struct module_entry *c = find_c_module(name);
    if (c) { // C modules are shared by all generations
        luaL_requiref(L, name, c->open, 0);
        lua_pushvalue(L, -1);
        lua_setfield(L, lua_upvalueindex(1), name);
        return 1;
    }
    int before = lua_gettop(L);
    if (!push_module(L, name, lua_upvalueindex(2))) return luaL_error(L, "module '%s' not found", name);
    const char *path = lua_tostring(L, -1); // stack: chunk, path
    int chunk = lua_gettop(L) - 1;
    lua_pushlightuserdata(L, (void *)&loading);
    lua_setfield(L, lua_upvalueindex(1), name);
    lua_pushvalue(L, chunk);
    lua_pushvalue(L, 1);
    lua_pushstring(L, path);
    lua_pushcfunction(L, vm_traceback);
    lua_insert(L, -4);
    int handler = lua_gettop(L) - 3;
    if (lua_pcall(L, 2, 1, handler) != LUA_OK) {
        lua_pushnil(L);
        lua_setfield(L, lua_upvalueindex(1), name);
        return lua_error(L);
    }
    if (lua_isnil(L, -1)) {
        lua_pop(L, 1);
        lua_pushboolean(L, 1);
    }
    lua_pushvalue(L, -1);
    lua_setfield(L, lua_upvalueindex(1), name);
    lua_replace(L, before + 1);
    lua_settop(L, before + 1);
    return 1;
}

void vm_push_require(lua_State *L) {
    lua_newtable(L);       // loaded
    lua_newtable(L);       // globals of this generation: own `require`, the rest as in _G
    lua_pushglobaltable(L);
    lua_pushnil(L);
    while (lua_next(L, -2)) {
        lua_pushvalue(L, -2);
        lua_insert(L, -2);
        lua_rawset(L, -5);
    }
    lua_pop(L, 1);
    lua_pushvalue(L, -1);
    lua_setfield(L, -2, "_G");
    lua_pushvalue(L, -2);
    lua_pushvalue(L, -2);
    lua_pushcclosure(L, require, 2); // loaded, globals, require
    lua_pushvalue(L, -1);
    lua_setfield(L, -3, "require");
    lua_remove(L, -2);
    lua_insert(L, -2); // require, loaded
}

static void list_folder(lua_State *L, int names, const char *home, const char *relative, int depth) {
    char full[PATH_MAX];
    if (depth > 16 || (size_t)snprintf(full, sizeof full, "%s/%s", home, relative) >= sizeof full) return;
    DIR *dir = opendir(full);
    if (!dir) return;
    luaL_checkstack(L, 4, "resources");
    struct dirent *entry;
    while ((entry = readdir(dir))) {
        if (entry->d_name[0] == '.') continue;
        char below[PATH_MAX];
        struct stat st;
        if ((size_t)snprintf(below, sizeof below, "%s/%s", relative, entry->d_name) >= sizeof below) continue;
        if (fstatat(dirfd(dir), entry->d_name, &st, 0) != 0) continue;
        if (S_ISDIR(st.st_mode)) {
            list_folder(L, names, home, below, depth + 1);
        } else if (S_ISREG(st.st_mode)) {
            lua_pushboolean(L, 1);
            lua_setfield(L, names, below);
        }
    }
    closedir(dir);
}

int vm_list_resources(lua_State *L) {
    const char *prefix = luaL_checkstring(L, 1);
    if (!vm_resource_name_ok(prefix)) return luaL_argerror(L, 1, "not a resource name");
    lua_settop(L, 1);
    lua_newtable(L); // 2: set of names
    const char *home = vm_home(L);
    if (home) list_folder(L, 2, home, prefix, 0);
    size_t len = strlen(prefix);
    for (const struct embed_file *f = embed_files; f->name; f++)
        if (strncmp(f->name, prefix, len) == 0 && f->name[len] == '/') {
            lua_pushboolean(L, 1);
            lua_setfield(L, 2, f->name);
        }
    lua_newtable(L); // 3: list
    lua_Integer n = 0;
    lua_pushnil(L);
    while (lua_next(L, 2)) {
        lua_pop(L, 1);
        lua_pushvalue(L, -1);
        lua_rawseti(L, 3, ++n);
    }
    // Few names: insertion sort keeps this free of the table library.
    for (lua_Integer i = 2; i <= n; i++)
        for (lua_Integer j = i; j > 1; j--) {
            lua_rawgeti(L, 3, j - 1);
            lua_rawgeti(L, 3, j);
            bool ordered = strcmp(lua_tostring(L, -2), lua_tostring(L, -1)) <= 0;
            if (!ordered) {
                lua_rawseti(L, 3, j - 1);
                lua_rawseti(L, 3, j);
                continue;
            }
            lua_pop(L, 2);
            break;
        }
    return 1;
}
