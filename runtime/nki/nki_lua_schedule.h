// SPDX-License-Identifier: MIT
// nki_lua_schedule.h: what the files of the timeline's binding share. Functions here may raise.
//
// A timeline is a userdata that keeps its machine. Its tables are made column by column: numbers as rt.array of rank 1,
// text as { codes = rt.array int32, values = { ... } } (code k is values[k + 1], -1 is NULL).
#ifndef NKILN_NKI_LUA_SCHEDULE_H
#define NKILN_NKI_LUA_SCHEDULE_H

#include "nki/nki_lua.h"
#include "nki/schedule.h"

struct nki_box_schedule {
    struct nki_schedule s;
    // Rows as a profile has them: a LoadStationary row before each matmul.
    uint32_t *row;   // per record entry: its row (of the matmul itself), from 0
    uint32_t *entry; // per row: record entry * 2, + 1 for a LoadStationary
    size_t rows;
};

// Texts of a column, each once. Lives as userdata on the stack.
struct nki_texts {
    char **text;
    uint32_t *slot; // hash table: code + 1
    size_t count, capacity, slots;
};

struct nki_box_schedule *nki_check_schedule(lua_State *L);
// A column of n elements of `dtype` stored under `name` in the table on top; its data.
void *nki_column(lua_State *L, const char *name, enum dtype dtype, size_t n);
// A text column: codes to fill; nki_texts_end adds the values and pops the collector.
struct nki_texts *nki_texts_begin(lua_State *L, const char *name, size_t n, int32_t **codes);
int32_t nki_texts_code(lua_State *L, struct nki_texts *t, const char *text); // NULL: -1
void nki_texts_end(lua_State *L, struct nki_texts *t, const char *name);
void nki_texts_metatable(lua_State *L);

const char *nki_storage_name(const struct nki_machine *m, const struct nki_storage *st, char buffer[48]);

uint64_t nki_region_bytes(const struct nki_region *g); // all partitions
// Whole nanoseconds of two columns, as profiles hold them: start_ts, end_ts, duration_ns.
void nki_whole_ns(lua_State *L, const double *start, const double *finish, size_t n);

int nki_timeline_instructions(lua_State *L);
int nki_timeline_packets(lua_State *L);
int nki_timeline_transfers(lua_State *L);
int nki_timeline_flows(lua_State *L);
int nki_timeline_sites(lua_State *L);
int nki_timeline_totals(lua_State *L);

int nki_lua_schedule(lua_State *L);   // m:schedule(model[, {progress =}])
int nki_lua_label(lua_State *L);      // m:label(tensor, name)
int nki_lua_keep_order(lua_State *L); // m:keep_order(enter)
void nki_schedule_metatable(lua_State *L);

#endif
