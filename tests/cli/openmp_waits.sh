#!/usr/bin/env bash
# s2s-run limits how long LibTorch's waiting threads spin, unless the user has chosen.
#
#   openmp_waits.sh S2S_RUN
set -euo pipefail

# The spin count that libgomp reads, in the environment of the arguments.
spin_count() {
  env -u OMP_WAIT_POLICY -u GOMP_SPINCOUNT OMP_DISPLAY_ENV=verbose "$@" \
    "$s2s_run" plan --help 2>&1 |
    sed -n "s/.*GOMP_SPINCOUNT = '\(.*\)'.*/\1/p" | sort -u
}

expect() {
  local expected=$1 found
  shift
  found=$(spin_count "$@")
  [ "$found" = "$expected" ] || { echo "$*: spin count '$found', expected '$expected'"; exit 1; }
}

s2s_run=$1
expect 2000
expect 7 GOMP_SPINCOUNT=7
expect 0 OMP_WAIT_POLICY=PASSIVE
echo "ok: threads of LibTorch spin briefly"
