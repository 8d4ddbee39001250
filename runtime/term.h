// SPDX-License-Identifier: MIT
// term.h: standard input, output and error of the program. Output is written whole and in order, through a queue, so
// a slow reader stalls one task and not the loop. No flag of an inherited descriptor is changed.
#ifndef NKILN_TERM_H
#define NKILN_TERM_H

#include <lua.h>
#include <stdbool.h>

// Use this descriptor as standard output (main keeps a private copy, so that a stray print cannot reach it).
void term_set_stdout(lua_State *L, int fd);
void term_flush(lua_State *L);         // write what is queued, waiting for slow readers
bool term_stdout_closed(lua_State *L); // the reader went away, or the disk is full
int term_stdout_error(lua_State *L);   // the errno of that write

int luaopen_rt_term(lua_State *L);

#endif
