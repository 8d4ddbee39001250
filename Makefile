# SPDX-License-Identifier: MIT
# nkiln: build, demo, test, bench, install.
#   make            build/nkiln
#   make demo       install what is missing, build, do the main job (BUG=n chooses the seeded bug)
#   make test       install what the tests need, run everything; last line "N passed, N failed"
#   make bench      ratios against peers, measured in one run
#   make install    PREFIX=/usr/local DESTDIR=
#   SAN=1           AddressSanitizer + UndefinedBehaviorSanitizer build under build/asan

include vendor/config.mk

PREFIX ?= /usr/local
BUILD := $(if $(SAN),build/asan,build)
OBJ := $(BUILD)/obj

CFLAGS ?= -O2 -g
WARN := -Wall -Wextra -Werror
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

$(BUILD)/nkiln-lua: $(OBJ)/tests/host.o $(OBJECTS) $(OBJ)/embed.o
	$(CC) $(LDSAN) $(LDFLAGS) -rdynamic -o $@ $^ $(LIBS)

$(OBJ)/%.o: %.c Makefile vendor/config.mk
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

clean:
	rm -rf build

.PHONY: all clean
