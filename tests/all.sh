#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Build and run every test; the last line is "N passed, N failed", and the status is 0 only when nothing failed.
# CI=true or SAN=1 adds the build under AddressSanitizer and UndefinedBehaviorSanitizer and its unit tests; CI=true also a
# second compiler, and a short fuzz of every parser. Called by "make test".
set -u
cd "$(dirname "$0")/.." || exit 2
MAKE=${MAKE:-make}
jobs=$(nproc 2>/dev/null || echo 2)
[ "$jobs" -le 8 ] || jobs=8
passed=0 failed=0
log=$(mktemp)
trap 'rm -f "$log" "$log".*' EXIT
unset MAKEFLAGS MFLAGS MAKELEVEL # the makes below are not part of the one that called

heading() { printf '\n== %s\n' "$1"; SECONDS=0; }

# One thing that works or does not: check NAME SECONDS COMMAND...; its output is shown when it fails.
check() {
  local name=$1 seconds=$2 status=0
  shift 2
  heading "$name"
  timeout -k 10 "$seconds" "$@" >"$log" 2>&1 </dev/null || status=$?
  echo "$SECONDS s"
  if [ $status = 0 ]; then
    passed=$((passed + 1))
    return 0
  fi
  failed=$((failed + 1))
  tail -n 60 "$log"
  [ $status != 124 ] || echo "no end after $seconds seconds"
  echo "FAIL  $name (status $status)"
  return 1
}

# Add the counts of one log of tests/run.lua: count NAME STATUS SECONDS LOG
count() {
  local name=$1 status=$2 seconds=$3 line bad
  line=$(grep -E '^[0-9]+ passed, [0-9]+ failed' "$4" | tail -n 1)
  if [ -z "$line" ]; then
    [ "$status" != 124 ] || echo "no end after $seconds seconds"
    echo "FAIL  $name ended early (status $status)"
    failed=$((failed + 1))
    return
  fi
  passed=$((passed + $(echo "$line" | sed 's/ passed.*//')))
  bad=$(echo "$line" | sed 's/.* passed, \([0-9]*\) failed.*/\1/')
  failed=$((failed + bad))
  if [ "$bad" = 0 ] && [ "$status" != 0 ]; then
    echo "FAIL  $name: every test passed, but the process ended with status $status"
    failed=$((failed + 1))
  fi
}

# Runs of tests/run.lua, one for each processor, each with its part of the files: suite NAME SECONDS COMMAND...
suite() {
  local name=$1 seconds=$2 k status
  local -a pids=()
  shift 2
  heading "$name"
  for ((k = 1; k <= jobs; k++)); do
    SHARD=$k/$jobs timeout -k 10 "$seconds" "$@" >"$log.$k" 2>&1 </dev/null &
    pids+=($!)
  done
  for ((k = 1; k <= jobs; k++)); do
    status=0
    wait "${pids[k - 1]}" || status=$?
    cat "$log.$k"
    count "$name" "$status" "$seconds" "$log.$k"
  done
  echo "$SECONDS s"
}

ci=no
[ "${CI:-}" != true ] || ci=yes

if check "build" 600 "$MAKE" -j"$jobs" SAN= build/nkiln build/nkiln-lua; then
  heading "independent Parquet writers"
  timeout -k 10 600 build/nkiln-lua tests/oracle/parquet/ready.lua </dev/null || export NKILN_NODE=none # asked once, not by every test
  suite "tests" 900 build/nkiln-lua tests/run.lua
fi

if [ $ci = yes ] || [ -n "${SAN:-}" ]; then
  if check "build with sanitizers" 600 "$MAKE" -j"$jobs" SAN=1 CFLAGS='-O1 -g' build/asan/nkiln build/asan/nkiln-lua; then
    export ASAN_OPTIONS=detect_leaks=1:abort_on_error=0 UBSAN_OPTIONS=print_stacktrace=1 NKILN_SANITIZED=1
    suite "unit tests with sanitizers" 900 build/asan/nkiln-lua tests/run.lua unit/
    unset ASAN_OPTIONS UBSAN_OPTIONS NKILN_SANITIZED
  fi
fi

if command -v luacheck >/dev/null 2>&1; then check "luacheck" 120 "$MAKE" lint; else echo "skip  luacheck is not here"; fi

if [ $ci = yes ]; then
  if command -v clang >/dev/null 2>&1; then
    check "clang has no warnings" 600 "$MAKE" -j"$jobs" SAN= CC=clang syntax
    check "fuzz" 300 "$MAKE" -j"$jobs" fuzz "FUZZ_SECONDS=${FUZZ_SECONDS:-10}"
  else
    echo "skip  clang is not here: no second compiler, no fuzzing"
  fi
fi

printf '\n%d passed, %d failed\n' "$passed" "$failed"
[ "$failed" = 0 ]
