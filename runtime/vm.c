// SPDX-License-Identifier: MIT
#include "vm.h"

#include <lauxlib.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "task.h"

enum {
    HOOK_EVERY = 10000,   // instructions between two looks at the clock
    ASK_AGAIN = 2000000,  // instructions an interrupted task may spend on unwinding before it is asked again
};

static double cpu_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void *allocate(void *data, void *block, size_t old, size_t wanted) {
    struct vm *vm = data;
    if (!block) old = 0; // Lua passes the kind of object here
    struct account *account = &vm->run->arrays;
    if (wanted == 0) {
        free(block);
        vm->used -= old;
        account->books -= old;
        return NULL;
    }
    // When this fails Lua collects garbage and tries again.
    if (wanted > old && !account_admits_books(account, wanted - old)) return NULL;
    void *moved = realloc(block, wanted);
    if (!moved) return NULL;
    vm->used = vm->used - old + wanted;
    account->books = account->books - old + wanted;
    if (vm->used > vm->peak) vm->peak = vm->used;
    return moved;
}

static int panic(lua_State *L) {
    const char *message = lua_tostring(L, -1);
    lua_writestringerror("nkiln: unprotected error: %s\n", message ? message : "(no message)");
    return 0; // Lua aborts
}

struct vm *vm_of(lua_State *L) {
    struct run_state *run = run_state(L);
    return run ? run->vm : NULL;
}

struct vm *vm_new(const struct vm_limits *limits, struct run_state *run) {
    struct vm *vm = calloc(1, sizeof *vm);
    if (!vm) return NULL;
    vm->run = run ? run : &vm->own;
    if (limits) vm_limit_memory(vm, limits->memory);
    vm->L = lua_newstate(allocate, vm);
    if (!vm->L) {
        free(vm);
        return NULL;
    }
    vm->run->vm = vm;
    vm->running = vm->L;
    run_state_attach(vm->L, vm->run);
    lua_atpanic(vm->L, panic);
    if (limits) vm_set_limits(vm, limits);
    return vm;
}

void vm_free(struct vm *vm) {
    if (!vm) return;
    vm->limits = (struct vm_limits){0};
    vm_lift_memory(vm);
    lua_sethook(vm->L, NULL, 0, 0);
    lua_close(vm->L);
    account_close(&vm->run->arrays);
    vm->run->vm = NULL;
    free(vm);
}

const char *vm_kill_code(enum vm_kill why) {
    switch (why) {
    case VM_KILL_CPU: return "cpu";
    case VM_KILL_STEPS: return "steps";
    case VM_KILL_CANCEL: return "cancelled";
    case VM_ALIVE: break;
    }
    return "alive";
}

static const char *kill_message(enum vm_kill why) {
    switch (why) {
    case VM_KILL_CPU: return "CPU time limit reached";
    case VM_KILL_STEPS: return "instruction limit reached";
    case VM_KILL_CANCEL: return "cancelled";
    case VM_ALIVE: break;
    }
    return "ended";
}

// One hook for limits, kills and interrupts. After a kill it fires at every instruction, so nothing that catches the
// error runs any further.
static void on_count(lua_State *L, lua_Debug *ar) {
    (void)ar;
    struct vm *vm = vm_of(L);
    if (vm->interrupted && !vm->killed) {
        // Task code decides what ends; unwinding gets room to run, a stubborn task is asked again.
        lua_sethook(L, on_count, LUA_MASKCOUNT, ASK_AGAIN);
        task_interrupt(L);
        return;
    }
    if (!vm->killed && (vm->ticked || !(vm->limits.steps || vm->limits.cpu > 0))) {
        // A tick, or a hook that one left behind in another coroutine.
        if (vm->ticked) {
            lua_sethook(L, on_count, LUA_MASKCOUNT, ASK_AGAIN); // what raises here is asked again, as above
            task_tick(L);
        }
        vm->ticked = 0;
        vm_restore_hook(L);
        return;
    }
    if (!vm->killed) {
        vm->steps += HOOK_EVERY;
        if (vm->limits.steps && vm->steps > vm->limits.steps) vm->killed = VM_KILL_STEPS;
        if (vm->limits.cpu > 0 && cpu_seconds() - vm->cpu_start > vm->limits.cpu) vm->killed = VM_KILL_CPU;
        if (!vm->killed) return;
    }
    lua_sethook(L, on_count, LUA_MASKCOUNT, 1);
    lua_pushstring(L, kill_message((enum vm_kill)vm->killed));
    lua_error(L);
}

void vm_limit_memory(struct vm *vm, size_t bytes) {
    vm->limits.memory = bytes;
    vm->run->arrays.books_limit = bytes;
}

void vm_lift_memory(struct vm *vm) {
    vm_limit_memory(vm, 0);
    vm->run->arrays.limit = 0;
}

void vm_set_limits(struct vm *vm, const struct vm_limits *limits) {
    vm->limits = *limits;
    vm_limit_memory(vm, limits->memory);
    vm->steps = 0;
    vm->cpu_start = cpu_seconds();
    vm_restore_hook(vm->running);
}

void vm_restore_hook(lua_State *L) {
    struct vm *vm = vm_of(L);
    bool count = vm && (vm->limits.steps || vm->limits.cpu > 0);
    lua_sethook(L, count ? on_count : NULL, count ? LUA_MASKCOUNT : 0, HOOK_EVERY);
}

void vm_kill(struct vm *vm, enum vm_kill why) {
    vm->killed = why;
    vm->run->interrupt = 1;
    lua_sethook(vm->running, on_count, LUA_MASKCOUNT, 1);
}

void vm_interrupt(struct vm *vm) {
    vm->interrupted = 1;
    vm->run->interrupt = 1;
    lua_sethook(vm->running, on_count, LUA_MASKCOUNT, 1);
}

void vm_tick(struct vm *vm) {
    // A state with limits has its own hook, and one that is being stopped keeps it.
    if (vm->killed || vm->interrupted || lua_gethook(vm->running)) return;
    vm->ticked = 1;
    lua_sethook(vm->running, on_count, LUA_MASKCOUNT, 1);
}

void vm_interrupt_clear(struct vm *vm) {
    vm->interrupted = 0;
    lua_sethook(vm->L, NULL, 0, 0);
}

int vm_resume(lua_State *co, lua_State *from, int nargs, int *nresults) {
    struct vm *vm = vm_of(co);
    if (!vm) return lua_resume(co, from, nargs, nresults);
    lua_State *before = vm->running;
    vm->running = co;
    if (vm->killed) lua_sethook(co, on_count, LUA_MASKCOUNT, 1);
    int status = lua_resume(co, from, nargs, nresults);
    vm->running = before;
    if (vm->killed) lua_sethook(before, on_count, LUA_MASKCOUNT, 1);
    return status;
}

int vm_close_coroutine(lua_State *co, lua_State *from) {
    struct vm *vm = vm_of(co);
    lua_State *before = vm ? vm->running : NULL;
    if (vm) vm->running = co;
#if LUA_VERSION_RELEASE_NUM >= 50406
    int status = lua_closethread(co, from);
#else
    (void)from;
    int status = lua_resetthread(co);
#endif
    if (vm) {
        vm->running = before;
        if (vm->killed) lua_sethook(before, on_count, LUA_MASKCOUNT, 1);
    }
    return status;
}

int vm_traceback(lua_State *L) {
    if (lua_type(L, 1) != LUA_TSTRING) return 1;
    const char *message = lua_tostring(L, 1);
    if (strstr(message, "\nstack traceback:")) return 1;
    luaL_traceback(L, L, message, 1);
    return 1;
}
