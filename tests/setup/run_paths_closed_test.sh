#!/bin/bash
# usage: run_paths_closed_test.sh SOURCE CXX_COMPILER
# core/setup.sh closes run paths that end with a colon, as that of NVIDIA's cuSPARSELt, and leaves
# the rest of these libraries, and other libraries, as they are.
set -euo pipefail
source_root=$1
compiler=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
lib=$folder/nvidia/some/lib
mkdir -p "$lib"
echo 'extern "C" int s2s_answer() { return 42; }' > "$folder/a.cc"
# shellcheck disable=SC2016  # the loader's variable
for kind in 'open:$ORIGIN:' 'good:$ORIGIN' 'two:$ORIGIN:$ORIGIN/../x'; do
  "$compiler" -shared -fPIC -Wl,--enable-new-dtags "-Wl,-rpath,${kind#*:}" \
    -o "$lib/${kind%%:*}.so" "$folder/a.cc"
done
cp -r "$lib" "$folder/before"

say() { :; }
eval "$(sed -n '/^close_run_paths() {/,/^}/p' "$source_root/core/setup.sh")"
close_run_paths "$folder"
close_run_paths "$folder"  # nothing is left to do

differences=$(cmp -l "$lib/open.so" "$folder/before/open.so" | wc -l) || true
[ "$differences" = 1 ] || { echo "FAILED: open.so differs in $differences bytes, not one"; exit 1; }
cmp "$lib/good.so" "$folder/before/good.so"
cmp "$lib/two.so" "$folder/before/two.so"
python3 - "$lib/open.so" << 'PYTHON'
import ctypes, sys
data = open(sys.argv[1], "rb").read()
assert b"$ORIGIN:\0" not in data and b"$ORIGIN\0\0" in data
assert ctypes.CDLL(sys.argv[1]).s2s_answer() == 42
PYTHON
echo "ok: run paths are closed"
