#!/usr/bin/env bash
# Packs a finished build for a GPU machine that has neither a network nor Debian's packages:
# stripped binaries, the Debian libraries they need, tests, the reference files that say something
# about a device (tests/gpu/compared.txt), tiny data and the benchmarks' scripts. The machine brings
# LibTorch (a Python that can import torch) and the driver.
#
#   bash tests/gpu/pack.sh [--build DIR] [--out DIR] [--tests "NAME..."]
#
#   --build DIR        a build tree with `product` and `s2s-bench` built (default: build)
#   --out DIR          where the bundle goes; what an earlier call left there is replaced
#                      (default: dist/gpu)
#   --tests "NAME..."  test programs to carry, as far as they are built (default: those that say
#                      something about a GPU; "": none)
#
# Copy the folder to the machine, and there: bash run.sh facts smoke
# (core/docs/guides/gpu_machine.md)
set -Eeuo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build=$root/build out=$root/dist/gpu
tests="parallel_nccl_test plugin_kernels_cuda_gpu_test\
 $(sed -n 's/^\([a-z_]*\).*/\1/p' "$root/tests/device/on_device.txt" | paste -sd' ')"
most_mib=40
most_kept=100000  # bytes of a file of test data that is no reference of a component

say() { printf 's2s pack: %s\n' "$*"; }
fail() { printf 'error: [pack/%s] %s\n' "$1" "$2" >&2; exit "${3:-1}"; }
usage() { sed -n '/^# Packs/,/^[^#]/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; }

while [ $# -gt 0 ]; do
  case $1 in
    --build|--out|--tests)
      [ $# -gt 1 ] || fail usage "$1 needs a value; see --help" 2
      printf -v "${1#--}" '%s' "$2"
      shift ;;
    -h|--help) usage; exit 0 ;;
    *) fail usage "unknown argument '$1'; see --help" 2 ;;
  esac
  shift
done

require() {
  local program
  for program in strip ldd python3 git; do
    [ -n "$(type -p "$program")" ] || fail tool "no $program; install binutils, python3, git"
  done
  [ -f "$build/CMakeCache.txt" ] ||
    fail build "'$build' is no build tree (no CMakeCache.txt); run 'bash core/setup.sh'"
  build=$(cd "$build" && pwd)
  local file
  for file in bin/s2s-{run,bench} lib/libs2s_{data,core,run,bench}.so lib/s2s/plugins; do
    [ -e "$build/$file" ] ||
      fail build "'$build' has no $file; run 'cmake --build $build --target product s2s-bench'"
  done
  torch_root=$(sed -n 's|^S2S_TORCH_ROOT:[A-Z]*=||p' "$build/CMakeCache.txt")
}

copy_program() {
  mkdir -p "$stage"/build/{bin,lib/s2s}
  cp "$build"/bin/s2s-{run,bench} "$stage/build/bin/"
  # Names of older versions stay in a build tree.
  local library
  for library in "$build"/lib/libs2s_*.so; do
    cp -L "$library" "$stage/build/lib/$(soname "$library")"
  done
  cp -r "$build/lib/s2s/plugins" "$stage/build/lib/s2s/"
  local name missing=()
  for name in $tests; do
    if [ -x "$build/bin/$name" ]; then cp "$build/bin/$name" "$stage/build/bin/"
    else missing+=("$name"); fi
  done
  [ ${#missing[@]} = 0 ] || say "not built, so not carried: ${missing[*]}"
}

soname() {  # soname LIBRARY: the name that others ask for
  local name
  name=$(objdump -p "$1" | sed -n 's/^ *SONAME *//p')
  echo "${name:-$(basename "$1")}"
}

elf_files() { find "$stage/build" -type f \( -name '*.so*' -o -path '*/bin/*' \); }

# What comes from Debian: neither the C library and the compiler's, which every machine has, nor
# LibTorch and NVIDIA's, nor our own.
copy_debian_libraries() {
  mkdir "$stage/deb"
  elf_files | LD_LIBRARY_PATH=$build/lib xargs ldd 2> /dev/null |
    awk '$2 == "=>" && $3 ~ /^\// {print $3}' | sort -u |
    { grep -vE '/(lib(c|m|dl|rt|pthread|util|resolv|stdc\+\+|gcc_s|gomp|cuda)|ld-linux[^/]*)[.-]' ||
      true; } |
    { grep -vE '/torch/lib/|/nvidia/[^/]+/lib/|/cuda[^/]*/|/libs2s_' || true; } \
      > "$scratch/libraries"
  while read -r library; do cp -L "$library" "$stage/deb/"; done < "$scratch/libraries"
  local missing
  missing=$(elf_files | LD_LIBRARY_PATH=$build/lib xargs ldd 2> /dev/null |
    awk '/not found/ {print $1}' | sort -u | paste -sd' ')
  [ -z "$missing" ] || fail library "this machine lacks $missing, which the build needs"
}

copy_data() {
  cp -r "$root/configs" "$stage/"
  mkdir -p "$stage"/tests/{gpu,benchmark,device,reference/data}
  cp "$root"/tests/gpu/{report.py,phases.sh} "$stage/tests/gpu/"
  cp "$root/tests/device/on_device.txt" "$stage/tests/device/"
  copy_references
  cp "$root"/tests/benchmark/{gpu_peer,compare_llm}.py "$stage/tests/benchmark/"
  local size
  for size in 41m 1.1b; do
    python3 "$root/tests/benchmark/nemo_duplex_bench.py" --size $size \
      --write-options "$stage/tests/benchmark/duplex_$size.json"
  done
  say "data: the tiny set of configs/tiny.yaml"
  "$build/bin/s2s-run" data synth "$stage/runs/tiny-data" --tiny --workers 1 \
    > "$scratch/synth" 2>&1 ||
    fail data "s2s-run data synth failed: $(tail -3 "$scratch/synth")"
  # The tokenizer of configs/tiny.yaml is trained by the first run that needs it.
}

copy_references() {
  local data=$root/tests/reference/data kept=$stage/tests/reference/data name
  python3 -B "$root/tests/gpu/report.py" references "$data" "$root/tests/gpu/compared.txt" \
    > "$stage/tests/gpu/references.txt" || exit 1
  while read -r _ name; do cp "$data/$name" "$kept/"; done < "$stage/tests/gpu/references.txt"
  say "references: $(wc -l < "$stage/tests/gpu/references.txt") of components,\
 $(mib "$kept") MiB"
  # What test programs read besides is small.
  (cd "$data" && find . -type f -size -${most_kept}c ! -path './*_hostile*' -print0 |
    tar --null --files-from=- -cf -) | tar -C "$kept" -xf -
}

write_facts() {
  local part version
  version=$(for part in MAJOR MINOR PATCH; do
    sed -n "s/^#define TORCH_VERSION_$part *\([0-9]*\).*/\1/p" \
      "$torch_root/include/torch/headeronly/version.h"
  done | paste -sd.)
  local glibc
  glibc=$({ elf_files; find "$stage/deb" -type f; } | xargs objdump -T 2> /dev/null |
    grep -oE 'GLIBC_[0-9.]+' | sort -Vu | tail -1)
  cat > "$stage/bundle.json" <<JSON
{"commit": "$(git -C "$root" describe --always --dirty 2> /dev/null || echo unknown)",
 "torch": "$version", "glibc": "${glibc#GLIBC_}"}
JSON
}

mib() { du -sm "$1" | cut -f1; }

write_bundle() {
  mkdir -p "$out"
  rm -f "$out"/{run.sh,bundle.tar.xz,SHA256SUMS}
  cp "$root/tests/gpu/run.sh" "$out/"
  # Python's lzma on both sides: the machine may have no xz.
  XZ_OPT='-T0 -6' tar -C "$stage" -cJf "$out/bundle.tar.xz" .
  (cd "$out" && sha256sum run.sh bundle.tar.xz > SHA256SUMS)
  local bytes
  bytes=$(stat -c %s "$out/bundle.tar.xz")
  say "unpacked: $(mib "$stage") MiB; $(mib "$stage/build") of binaries, $(mib "$stage/deb") of\
 $(find "$stage/deb" -type f | wc -l) Debian libraries, $(mib "$stage/tests/reference") of\
 reference data, $(mib "$stage/runs") of tiny data"
  say "test programs: $(find "$stage/build/bin" -name '*_test' -printf '%f\n' | sort |
    paste -sd' ')"
  say "$out: bundle.tar.xz, $(awk "BEGIN {printf \"%.1f\", $bytes / 1048576}") of at most\
 $most_mib MiB; run.sh"
  [ "$bytes" -le $((most_mib * 1048576)) ] || fail size "the bundle has more than $most_mib MiB;\
 carry fewer tests (--tests) or fewer reference files (tests/gpu/compared.txt)"
}

require
scratch=$(mktemp -d)
stage=$scratch/stage
mkdir "$stage"
trap 'rm -rf "$scratch"' EXIT
trap 'fail internal "line $LINENO: \`$BASH_COMMAND\` failed; run this again with bash -x"' ERR
copy_program
copy_debian_libraries
# The notes of plugins are in sections that stay.
elf_files | xargs strip --strip-unneeded
copy_data
write_facts
write_bundle
