# SPDX-License-Identifier: MIT
# Where the packaged libraries are on this machine. Debian and Ubuntu name Lua "lua5.4"; Amazon Linux and Fedora "lua".
# This is read when make starts, so targets that install packages call make again afterwards.
LUA_PC := $(shell for p in lua5.4 lua-5.4 lua54 lua; do pkg-config --exists "$$p >= 5.4" "$$p < 5.5" 2>/dev/null && echo "$$p" && break; done)
LIBDIR := $(shell pkg-config --variable=libdir $(LUA_PC) 2>/dev/null)
HAVE_LIBS := $(shell test -n "$(LUA_PC)" && pkg-config --exists sqlite3 2>/dev/null && echo yes)
INCLUDES := $(shell test -n "$(HAVE_LIBS)" && pkg-config --cflags $(LUA_PC) sqlite3)
LIBS := $(shell test -n "$(HAVE_LIBS)" && pkg-config --libs $(LUA_PC) sqlite3) -lpthread -ldl -lm
CC ?= cc

# lua-cjson and LuaFileSystem: linked (statically where an archive exists) when the distribution offers a library;
# otherwise their loadable modules are opened at run time (runtime/vm_lua.c).
define LUA_MODULE
$(if $(shell pkg-config --exists $(LUA_PC)-$(1) 2>/dev/null && echo y),$(if $(wildcard $(LIBDIR)/lib$(LUA_PC)-$(1).a),-l:lib$(LUA_PC)-$(1).a,-l$(LUA_PC)-$(1)))
endef
LUA_CJSON := $(strip $(call LUA_MODULE,cjson))
LUA_LFS := $(strip $(call LUA_MODULE,filesystem))
EXTRA_runtime/vm_lua := $(if $(LUA_CJSON),-DNKILN_LINKED_CJSON) $(if $(LUA_LFS),-DNKILN_LINKED_LFS)
LIBS := $(LUA_CJSON) $(LUA_LFS) $(LIBS)
