#!/bin/sh
# SPDX-License-Identifier: MIT
# Install the packages of vendor/packages.txt that are missing here, and only those.
#   install.sh [build] [run] [test]     (nothing named: build run)
# Says what it installs before it does. As root it calls apt-get or dnf itself, otherwise through sudo; where neither works
# it prints the exact command and ends with status 3. Optional packages never make it fail.
set -u
here=$(cd "$(dirname "$0")" && pwd)
table=${NKILN_PACKAGES:-$here/packages.txt}
wanted=" ${*:-build run} "
[ -r "$table" ] || { echo "install.sh: $table cannot be read" >&2; exit 2; }
for word in $wanted; do
  case $word in build | run | test) ;; *) echo "install.sh: unknown group $word (build, run, test)" >&2; exit 2 ;; esac
done

# Any of the files in the folders where libraries live.
have_library() {
  for name in $(echo "$1" | tr ',' ' '); do
    for folder in /lib /lib64 /usr/lib /usr/lib64 /usr/local/lib /usr/local/lib64 /usr/lib/*-linux-gnu /lib/*-linux-gnu; do
      [ -e "$folder/$name" ] && return 0
    done
  done
  return 1
}

have_lua_module() {
  for folder in /usr/lib/*-linux-gnu/lua/5.4 /usr/lib/lua/5.4 /usr/lib64/lua/5.4 /usr/local/lib/lua/5.4 /usr/share/lua/5.4; do
    [ -e "$folder/$1.so" ] || [ -e "$folder/$1.lua" ] && return 0
  done
  return 1
}

have_file() {
  for pattern in $(set -f; echo "$1" | tr ',' ' '); do # a pattern that matches nothing stays as it is
    [ -e "$pattern" ] && return 0
  done
  return 1
}

have() {
  case $1 in
    cmd:*) command -v "${1#cmd:}" >/dev/null 2>&1 ;;
    lib:*) have_library "${1#lib:}" ;;
    lua:*) have_lua_module "${1#lua:}" ;;
    py:*) /usr/bin/python3 -c "import ${1#py:}" >/dev/null 2>&1 || python3 -c "import ${1#py:}" >/dev/null 2>&1 ;;
    file:*) have_file "${1#file:}" ;;
    pc:*)
      names=${1#pc:}
      least=${names#*>=}
      command -v pkg-config >/dev/null 2>&1 || return 1
      for name in $(echo "${names%%>=*}" | tr ',' ' '); do
        # "lua" is 5.1 on some systems and 5.5 may come: the major and minor version must fit.
        case $name in lua*) pkg-config --exists "$name >= $least" "$name < 5.5" 2>/dev/null && return 0 ;;
          *) pkg-config --exists "$name >= $least" 2>/dev/null && return 0 ;;
        esac
      done
      return 1 ;;
    *) return 1 ;;
  esac
}

if command -v apt-get >/dev/null 2>&1; then manager=apt
elif command -v dnf >/dev/null 2>&1; then manager=dnf
else manager=none
fi

trim() { echo "$1" | sed 's/^[[:space:]]*//; s/[[:space:]]*$//'; }

# Collect what is missing: names of packages, and lines for people.
collect() {
  required= optional= report= lost=
  while IFS='|' read -r what apt dnf needed probe _licence note; do
    what=$(trim "$what") needed=$(trim "$needed") probe=$(trim "$probe")
    case $what in '' | '#'*) continue ;; esac
    group=${needed%\?}
    case $wanted in *" $group "*) ;; *) continue ;; esac
    have "$probe" && continue
    case $manager in dnf) name=$(trim "$dnf") ;; *) name=$(trim "$apt") ;; esac
    if [ "$group" != "$needed" ]; then
      lost="$lost  $what: $(trim "$note")
"
      [ "$name" = - ] || optional="$optional $name"
    else
      [ "$name" = - ] && name=$what
      required="$required $name"
    fi
    [ "$name" = - ] || report="$report  $name ($what, to $group)
"
  done <"$table"
}

collect
[ -n "$required$optional" ] || exit 0

# How to become root: nothing when we are, "sudo" when it works, else we cannot.
become= able=yes
if [ "$(id -u)" != 0 ]; then
  become=sudo
  if ! command -v sudo >/dev/null 2>&1; then able=no
  elif ! sudo -n true 2>/dev/null && ! [ -t 0 ]; then able=no # it would ask for a password, and nobody is there
  fi
fi
[ $manager = none ] && able=no

show_command() {
  case $manager in
    apt) echo "${become:+sudo }apt-get install -y --no-install-recommends$1" ;;
    dnf) echo "${become:+sudo }dnf install -y$1" ;;
    *) echo "(no apt-get or dnf here) install what your system calls:$1" ;;
  esac
}

if [ $able = no ]; then
  if [ -n "$required" ]; then
    echo "These packages are missing and cannot be installed from here:" >&2
    printf '%s' "$report" >&2
    echo "Run this, then try again:" >&2
    echo "  $(show_command "$required$optional")" >&2
    exit 3
  fi
  echo "Optional packages that are missing (without them: what the line says):" >&2
  printf '%s' "$lost" >&2
  echo "  $(show_command "$optional")" >&2
  exit 0
fi

apt() { $become env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=120 -o Dpkg::Use-Pty=0 "$@"; }

# Package lists are fetched once, and only when a package is not known or its file is gone from the archive.
updated=no
update() {
  [ $updated = yes ] && return 0
  updated=yes
  echo "Fetching the package lists"
  apt update >/dev/null || echo "The package lists could not be fetched; going on with those at hand" >&2
}

known() { [ -n "$(apt-cache policy "$1" 2>/dev/null | sed -n '/Candidate: [^(]/p')" ]; }

install_packages() {
  [ -n "$1" ] || return 0
  if [ $manager = dnf ]; then
    # shellcheck disable=SC2086
    $become dnf install -y -q $1
    return
  fi
  for name in $1; do known "$name" || { update; break; }; done
  # shellcheck disable=SC2086
  apt install -y --no-install-recommends $1 >"$log" 2>&1 && return 0
  if [ $updated = no ]; then
    update
    # shellcheck disable=SC2086
    apt install -y --no-install-recommends $1 >"$log" 2>&1 && return 0
  fi
  tail -n 5 "$log" >&2
  return 1
}

log=$(mktemp)
trap 'rm -f "$log"' EXIT
echo "Installing what is missing:"
printf '%s' "$report"
if ! install_packages "$required"; then
  echo "The packages could not be installed. The command was:" >&2
  echo "  $(show_command "$required")" >&2
  exit 3
fi
# Optional ones one by one: a name that this distribution lacks must not stop the others.
usable=
for name in $optional; do
  if [ $manager = apt ] && ! known "$name"; then
    update
    known "$name" || { echo "  $name is not packaged here; going on without it"; continue; }
  fi
  usable="$usable $name"
done
if [ -n "$usable" ] && ! install_packages "$usable"; then
  for name in $usable; do install_packages " $name" || echo "  $name could not be installed; going on without it"; done
fi

collect
if [ -n "$required" ]; then
  echo "Still missing after the installation:" >&2
  printf '%s' "$report" >&2
  exit 3
fi
exit 0
