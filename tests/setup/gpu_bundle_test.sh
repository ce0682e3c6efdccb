#!/usr/bin/env bash
# What tests/gpu/pack.sh makes has its parts, and tests/gpu/run.sh refuses what it cannot do. No GPU
# is needed.
#
#   gpu_bundle_test.sh SOURCE_DIR BUILD_DIR
set -euo pipefail

source_dir=$1 build=$2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

fail() { echo "FAILED: $*"; exit 1; }
expect() {  # expect EXIT_CODE TEXT COMMAND...
  local wanted=$1 text=$2 rc=0 output
  shift 2
  output=$("$@" 2>&1) || rc=$?
  [ $rc = "$wanted" ] || fail "'$*' ended with $rc, not $wanted: $output"
  grep -qF -- "$text" <<< "$output" || fail "'$*' did not print '$text': $output"
}

pack=$source_dir/tests/gpu/pack.sh run=$source_dir/tests/gpu/run.sh
expect 0 "--build DIR" bash "$pack" --help
expect 2 "error: [pack/usage] unknown argument '--nothing'" bash "$pack" --nothing
expect 2 "error: [pack/usage] --out needs a value" bash "$pack" --out
expect 1 "error: [pack/build]" bash "$pack" --build "$scratch"

expect 0 "bash run.sh [OPTION...] PHASE..." bash "$run" --help
expect 2 "error: [gpu/usage] no phase is named; expected some of: facts smoke" bash "$run"
expect 2 "error: [gpu/usage] unknown phase or option 'trian'" bash "$run" facts trian
expect 2 "error: [gpu/usage] --rounds, 'many'" bash "$run" --rounds many facts
expect 2 "error: [gpu/usage] --work needs a value" bash "$run" facts --work
expect 3 "error: [gpu/bundle] no bundle.tar.xz beside" bash "$run" --rehearse facts
mkdir "$scratch/path"
for program in bash dirname sed; do ln -s "$(type -p $program)" "$scratch/path/"; done
expect 3 "error: [gpu/none] no GPU" env "PATH=$scratch/path" bash "$run" facts

[ -x "$build/bin/s2s-run" ] || fail "no $build/bin/s2s-run; build the target product"
bash "$pack" --build "$build" --out "$scratch/gpu" --tests "" > "$scratch/said" 2>&1 ||
  fail "pack.sh: $(cat "$scratch/said")"
(cd "$scratch/gpu" && sha256sum --quiet -c SHA256SUMS) || fail "SHA256SUMS is wrong"
tar -tJf "$scratch/gpu/bundle.tar.xz" > "$scratch/names"
for name in bundle.json build/bin/s2s-run build/lib/libs2s_run.so build/lib/s2s/plugins/ \
    configs/tiny.yaml runs/tiny-data/train.jsonl tests/gpu/report.py tests/gpu/references.txt \
    tests/benchmark/duplex_41m.json; do
  grep -qxF "./$name" "$scratch/names" || fail "the bundle lacks $name"
done
for pattern in 'build/lib/libs2s_core\.so\.[0-9]+' 'deb/libsndfile\.so\.1' \
    'build/lib/s2s/plugins/libs2s_model_duplex_s2s\.so' \
    'tests/reference/data/hf_llama_plain\..*'; do
  grep -qxE "\./$pattern" "$scratch/names" || fail "the bundle lacks $pattern"
done
! grep -E 'libtorch|libcuda|libc\.so|libstdc' "$scratch/names" ||
  fail "the bundle has libraries of the machine"
[ "$(stat -c %s "$scratch/gpu/bundle.tar.xz")" -lt $((64 << 20)) ] || fail "more than 64 MiB"

torch=$(sed -n 's/^S2S_TORCH_ROOT:[A-Z]*=//p' "$build/CMakeCache.txt")
rehearse=(bash "$scratch/gpu/run.sh" --rehearse --work "$scratch/there" --torch "$torch")
expect 0 "all passed" "${rehearse[@]}" facts smoke
grep -q '^## On a GPU: none' "$scratch/there/results/report.md" || fail "no report"
printf 'facts\tgone\tfailed\t0\t\n' >> "$scratch/there/results/steps.tsv"
expect 0 "- facts: 3 of 3 steps passed" "${rehearse[@]}" facts
printf '#!/bin/sh\necho glibc 2.31\n' > "$scratch/path/getconf"
chmod +x "$scratch/path/getconf"
expect 3 "error: [gpu/glibc] this machine's glibc is 2.31" env "PATH=$scratch/path:$PATH" \
  "${rehearse[@]}" facts
echo "ok: the bundle has its parts"
