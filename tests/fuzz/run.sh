#!/usr/bin/env bash
# usage: bash tests/fuzz/run.sh TARGET [SECONDS] [TORCH_ROOT]
# Fuzzes one of the targets with clang's libFuzzer under address and undefined-behaviour sanitizers;
# TARGET is pickle or safetensors_header. What it finds lies in build-fuzz/TARGET.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
target=${1:?usage: bash tests/fuzz/run.sh TARGET [SECONDS] [TORCH_ROOT]}
seconds=${2:-600}
torch=${3:-$(sed -n 's/^S2S_TORCH_ROOT:[A-Z]*=//p' "$root/build/CMakeCache.txt")}
[ -f "$root/tests/fuzz/fuzz_$target.cc" ] || { echo "no target '$target'"; exit 2; }
command -v clang++ >/dev/null || { echo "skipped: there is no clang++"; exit 77; }

work=$root/build-fuzz/$target
mkdir -p "$work/found"
sources=(base/error.cc weights/weights_errors.cc)
case $target in
  pickle) sources+=(weights/pickle.cc weights/torch_calls.cc) ;;
  safetensors_header) sources+=(weights/safetensors_header.cc) ;;
esac
clang++ -std=c++20 -O1 -g -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined \
  -DFMT_HEADER_ONLY=1 -I"$root/core/include" -I"$root/core/src" -isystem "$torch/include" \
  "$root/tests/fuzz/fuzz_$target.cc" "${sources[@]/#/$root/core/src/}" \
  -L"$torch/lib" -Wl,-rpath,"$torch/lib" -lc10 -o "$work/fuzz"
"$work/fuzz" -max_total_time="$seconds" -max_len=4096 -rss_limit_mb=2048 -timeout=10 \
  -artifact_prefix="$work/" "$work/found" "$root/tests/fuzz/corpus/$target"
