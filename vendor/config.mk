# SPDX-License-Identifier: MIT
# Where the packaged libraries are on this machine. Debian and Ubuntu name Lua "lua5.4"; Amazon Linux and Fedora "lua".
LUA_PC := $(shell for p in lua5.4 lua-5.4 lua54 lua; do pkg-config --exists "$$p" 2>/dev/null && echo "$$p" && break; done)
LIBDIR := $(shell pkg-config --variable=libdir $(LUA_PC) 2>/dev/null)
INCLUDES := $(shell pkg-config --cflags $(LUA_PC) sqlite3 2>/dev/null)
LIBS := $(shell pkg-config --libs $(LUA_PC) sqlite3 2>/dev/null) -lpthread -ldl -lm
CC ?= cc
