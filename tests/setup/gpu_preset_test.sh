#!/usr/bin/env bash
# The preset gpu is refused with a LibTorch for CPUs only, before anything is compiled; without it
# such a LibTorch is fine, and a LibTorch with its CUDA half always is.
#
#   gpu_preset_test.sh SOURCE_DIR TORCH_ROOT
set -euo pipefail

source_dir=$1
torch=$2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

fail() { echo "FAILED: $*"; exit 1; }
expect() {  # expect TEXT OUTPUT
  # CMake wraps what it says.
  grep -qF -- "$1" <<< "$(tr -s ' \n' ' ' <<< "$2")" || fail "'$1' was not printed: $2"
}

# A LibTorch with this one's headers and no CUDA half.
mkdir -p "$scratch/cpu/lib"
ln -s "$torch/include" "$scratch/cpu/include"
if output=$(cd "$source_dir" && CMAKE_PREFIX_PATH='' cmake --preset gpu -B "$scratch/build" \
    -DS2S_TORCH_ROOT="$scratch/cpu" 2>&1); then
  fail "the preset gpu was accepted without LibTorch's CUDA half: $output"
fi
expect "GPU: libtorch_cuda" "$output"
expect "not found beside $scratch/cpu" "$output"
expect "run 'S2S_WITH_CUDA=1 bash core/setup.sh --preset gpu', or configure without S2S_CUDA" \
  "$output"
[ ! -e "$scratch/build/build.ninja" ] || fail "a tree was made"

answer() {  # answer ARGUMENT...: what the module alone says
  cmake "$@" -P "$source_dir/core/cmake/S2sCuda.cmake" 2>&1 || fail "refused: $*"
}
expect "GPU: CPU targets only, libtorch_cuda" "$(answer -DS2S_TORCH_ROOT="$scratch/cpu")"
mkdir -p "$scratch/cuda/lib"
touch "$scratch"/cuda/lib/lib{torch_cuda,cublas,cufft,cusparse,nccl}.so
for insist in ON OFF; do
  expect "GPU: runs on one are possible" \
    "$(answer -DS2S_TORCH_ROOT="$scratch/cuda" -DS2S_CUDA=$insist)"
done
echo "ok: the preset gpu insists"
