# SPDX-License-Identifier: MIT
# nkiln: build, demo, test, bench, install.
#   make            build/nkiln
#   make demo       install what is missing, build, do the main job (BUG=n chooses the seeded bug)
#   make demo-profile  why a kernel is slow: profile, bounds, source lines, comparison
#   make test       install what the tests need, run everything; last line "N passed, N failed"
#   make bench      ratios against peers, measured in one run
#   make install    PREFIX=/usr/local DESTDIR=
#   make deps       install the packages needed to build and run (vendor/packages.txt)
#   make lint       luacheck            make fuzz   libFuzzer on every parser, FUZZ_SECONDS=10 each
#   SAN=1           AddressSanitizer + UndefinedBehaviorSanitizer build under build/asan

include vendor/config.mk

PREFIX ?= /usr/local
BUILD := $(if $(SAN),build/asan,build)
OBJ := $(BUILD)/obj

CFLAGS ?= -O2 -g
WERROR ?= -Werror
WARN := -Wall -Wextra $(WERROR)
BASE := -std=c17 -D_GNU_SOURCE -ffp-contract=off -fno-strict-aliasing -Iruntime -I$(BUILD) $(WARN)
ifdef SAN
BASE += -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
LDSAN := -fsanitize=address,undefined
endif

# The row kernels are one text compiled for several processors; flags that never change a result (no -ffast-math).
KERNEL_FLAGS := -O3 -fno-math-errno -fno-trapping-math
EXTRA_runtime/array/kernels_base := $(KERNEL_FLAGS)
ifeq ($(shell uname -m),x86_64)
EXTRA_runtime/array/kernels_avx2 := $(KERNEL_FLAGS) -mavx2
EXTRA_runtime/array/kernels_avx512 := $(KERNEL_FLAGS) -mavx512f -mavx512bw -mavx512dq -mavx512vl -mprefer-vector-width=512
endif

SOURCES := $(filter-out runtime/main.c,$(wildcard runtime/*.c runtime/*/*.c))
OBJECTS := $(SOURCES:%.c=$(OBJ)/%.o)
FILES := $(sort $(shell find prelude skills agents -type f \( -name '*.lua' -o -name '*.md' \) 2>/dev/null))

all: $(BUILD)/nkiln

$(BUILD)/nkiln: $(OBJ)/runtime/main.o $(OBJECTS) $(OBJ)/embed.o
	$(CC) $(LDSAN) $(LDFLAGS) -rdynamic -o $@ $^ $(LIBS)

$(BUILD)/nkiln-lua: $(OBJ)/tests/host.o $(OBJ)/tests/jailtry.o $(OBJECTS) $(OBJ)/embed.o
	$(CC) $(LDSAN) $(LDFLAGS) -rdynamic -o $@ $^ $(LIBS)

$(OBJ)/%.o: %.c Makefile vendor/config.mk
	$(if $(HAVE_LIBS),,$(error Lua 5.4 or SQLite development files are missing here. "make deps" installs them))
	@mkdir -p $(@D)
	$(CC) $(BASE) $(CFLAGS) $(EXTRA_$*) $(INCLUDES) -MMD -MP -c -o $@ $<

# A copy of the Lua files inside the binary, so that a lone binary works.
$(BUILD)/embed.c: $(FILES) vendor/embed.sh Makefile
	@mkdir -p $(@D)
	sh vendor/embed.sh $(FILES) >$@.tmp && mv $@.tmp $@

$(OBJ)/embed.o: $(BUILD)/embed.c
	@mkdir -p $(@D)
	$(CC) $(BASE) $(CFLAGS) -c -o $@ $<

-include $(shell find $(OBJ) -name '*.d' 2>/dev/null)

# Packages first; then make again, because vendor/config.mk is read when make starts.
deps:
	@sh vendor/install.sh build run

# The main job: write, check, run, prove and debug a kernel in front of the user.
BUG ?= 1
demo:
	@sh vendor/install.sh build run
	@$(MAKE) --no-print-directory -s build/nkiln
	@build/nkiln run tests/demo/demo.lua $(BUG)

# The profile walkthrough: why a SwiGLU kernel is slow, and what a change does.
demo-profile:
	@sh vendor/install.sh build run
	@$(MAKE) --no-print-directory -s build/nkiln
	@build/nkiln run tests/demo/profile.lua

# Ratios against peers, measured in one run.
bench:
	@sh vendor/install.sh build run test
	@$(MAKE) --no-print-directory -s build/nkiln build/nkiln-lua
	@build/nkiln-lua tests/bench/main.lua
	@build/nkiln-lua tests/bench/import_bench.lua
	@build/nkiln-lua tests/bench/analysis_bench.lua
	@build/nkiln-lua tests/bench/report_bench.lua

test:
	@sh vendor/install.sh build run test
	@MAKE="$(MAKE)" SAN="$(SAN)" bash tests/all.sh

# Every C file through the compiler, nothing kept: for warnings of a second compiler.
SYNTAX := $(patsubst %.c,syntax/%,$(SOURCES) runtime/main.c tests/host.c)
syntax: $(SYNTAX)
$(SYNTAX): syntax/%: %.c
	$(CC) $(BASE) $(EXTRA_$*) $(INCLUDES) -fsyntax-only $<

lint:
	luacheck -q $(wildcard prelude skills agents tests)

# A fuzz target names the sources it is built from in a line "// sources: FILES" (bindings, *_lua.c, are left out).
FUZZ_SECONDS ?= 10
FUZZERS := $(patsubst tests/fuzz/%_fuzz.c,build/fuzz/%,$(wildcard tests/fuzz/*_fuzz.c))
fuzz_sources = $(filter-out %_lua.c,$(wildcard $(shell sed -n 's|^// sources: ||p' $(1))))

build/fuzz/%: tests/fuzz/%_fuzz.c $(wildcard runtime/*.[ch] runtime/*/*.[ch])
	@mkdir -p $(@D)
	clang -std=c17 -D_GNU_SOURCE -g -O1 $(WARN) -ffp-contract=off -fno-strict-aliasing -fsanitize=fuzzer,address,undefined \
	  -fno-sanitize-recover=undefined -Iruntime -o $@ $< $(call fuzz_sources,$<) -lm

fuzz: $(FUZZERS)
	@set -e; for f in $(FUZZERS); do echo "fuzz $$f: $(FUZZ_SECONDS) s"; mkdir -p $$f.corpus; \
	  seeds=tests/fuzz/$$(basename $$f).corpus; [ -d $$seeds ] || seeds=; \
	  words=-dict=tests/fuzz/$$(basename $$f).dict; [ -f $${words#-dict=} ] || words=; \
	  $$f $$words -max_total_time=$(FUZZ_SECONDS) -timeout=10 -rss_limit_mb=2048 -verbosity=0 -print_final_stats=0 -artifact_prefix=$$f. $$f.corpus $$seeds; done

SHARE := $(DESTDIR)$(PREFIX)/share/nkiln
install: $(BUILD)/nkiln
	install -d $(DESTDIR)$(PREFIX)/bin $(SHARE)
	install -m 755 $(BUILD)/nkiln $(DESTDIR)$(PREFIX)/bin/nkiln
	for d in prelude skills agents; do [ ! -d $$d ] || { rm -rf $(SHARE)/$$d && cp -R $$d $(SHARE)/; }; done
	find $(SHARE) -type d -exec chmod 755 {} + && find $(SHARE) -type f -exec chmod 644 {} +
	install -m 644 LICENSE vendor/NOTICE $(SHARE)/

clean:
	rm -rf build

.PHONY: all clean deps demo demo-profile bench test lint syntax $(SYNTAX) fuzz install
