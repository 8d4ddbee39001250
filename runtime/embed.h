// SPDX-License-Identifier: MIT
// embed.h: the Lua files compiled into the binary, used where the installed files cannot be found.
#ifndef NKILN_EMBED_H
#define NKILN_EMBED_H

struct embed_file {
    const char *name; // "prelude/cli.lua"
    const char *data;
    const char *end;
};

// Ends with a row whose name is NULL.
extern const struct embed_file embed_files[];

#endif
