#!/bin/bash
# What the tests of the SDK share. `build` needs $prefix and $scratch.

fail() { echo "FAILED: $*"; exit 1; }

expect() {  # expect TEXT COMMAND...: the command succeeds and prints TEXT
  local text=$1 output
  shift
  output=$("$@" 2>&1) || fail "$* ended with $?: $output"
  grep -qF -- "$text" <<< "$output" || fail "$* did not print '$text': $output"
}

build() {  # build FOLDER: configures, builds, runs its own test
  local generator=()
  [ -z "$(type -p ninja)" ] || generator=(-G Ninja)
  if [ -n "$(type -p ccache)" ]; then  # the folder is another one each time, the sources are not
    export CMAKE_CXX_COMPILER_LAUNCHER=ccache CCACHE_BASEDIR=$scratch CCACHE_NOHASHDIR=1
    export CCACHE_SLOPPINESS=include_file_mtime,include_file_ctime
  fi
  { cmake "${generator[@]}" -S "$1" -B "$1/build" -DCMAKE_PREFIX_PATH="$prefix" &&
    cmake --build "$1/build" && ctest --test-dir "$1/build" --output-on-failure
  } > "$scratch/log" 2>&1 || fail "$1: $(tail -40 "$scratch/log")"
}

follow() {  # follow PAGE: types the commands of a guide, in order, in one shell
  local page=$prefix/share/s2s/docs/guides/$1 log=$scratch/$1.log
  # Blocks without a language are commands.
  awk '/^```/ { is_in = !is_in; is_plain = $0 == "```"; next } is_in && is_plain' "$page" |
    sed "s|\bPREFIX\b|$prefix|g" > "$scratch/$1.sh"
  [ -s "$scratch/$1.sh" ] || fail "$page has no commands"
  (cd "$scratch" && bash -euo pipefail "$scratch/$1.sh") > "$log" 2>&1 ||
    fail "the commands of $page: $(tail -40 "$log")"
}
followed() {  # followed PAGE TEXT: one of its commands printed it
  grep -qF -- "$2" "$scratch/$1.log" || fail "$1 did not print '$2': $(cat "$scratch/$1.log")"
}
