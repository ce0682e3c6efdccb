#!/usr/bin/env bash
# What tests/gpu/pack.sh makes has its parts, tests/gpu/run.sh refuses what it cannot do, and a test
# program that does not compute on the device that it was meant for fails. No GPU is needed.
# bare_gpu_machine.sh runs all phases in a bare system.
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

if type -P shellcheck > /dev/null; then
  shellcheck -x -P "$source_dir" "$source_dir"/tests/gpu/*.sh "$source_dir"/tests/setup/*.sh ||
    fail "shellcheck"
else echo "skipped: no shellcheck here"; fi

report=(python3 -B "$source_dir/tests/gpu/report.py")
program() {  # program LINE EXIT_CODE: one that prints a line
  printf '#!/bin/sh\necho "%s"\nexit %s\n' "$1" "$2" > "$scratch/program"
  chmod +x "$scratch/program"
}
program "tests run on: cuda:0" 0
expect 0 '{"ran_on": ["cuda:0"]' "${report[@]}" test cuda "$scratch/program"
expect 1 "FAILED: program was meant for test_device and computed on cuda:0" \
  "${report[@]}" test test_device "$scratch/program"
program "tests run on: cuda:0" 3
expect 1 "FAILED: program ended with exit code 3" "${report[@]}" test cuda "$scratch/program"
program "MESSAGE: skipped: no GPU here" 0
expect 1 "computed on a device that it did not name" "${report[@]}" test cuda "$scratch/program"
expect 0 '{"ran_on": [], "skipped": 1' "${report[@]}" test none "$scratch/program"
# shellcheck disable=SC2016  # the program's
printf '#!/bin/sh\necho "$1"\n' > "$scratch/program"
expect 0 "--source-file=*/a_test.cc,*/b_test.cc" \
  "${report[@]}" test cpu "$scratch/program" a_test,b_test
data=$source_dir/tests/reference/data
echo hf_llama_plain > "$scratch/names"
expect 1 "codec:mimi has no reference file there" \
  "${report[@]}" references "$data" "$scratch/names"
echo hf_llama_gone > "$scratch/names"
expect 1 "hf_llama_gone: no reference file" "${report[@]}" references "$data" "$scratch/names"

[ -x "$build/bin/s2s-bench" ] || fail "no $build/bin/s2s-bench; build product and s2s-bench"
bash "$pack" --build "$build" --out "$scratch/gpu" > "$scratch/said" 2>&1 ||
  fail "pack.sh: $(cat "$scratch/said")"
(cd "$scratch/gpu" && sha256sum --quiet -c SHA256SUMS) || fail "SHA256SUMS is wrong"
tar -tJf "$scratch/gpu/bundle.tar.xz" > "$scratch/names"
for name in bundle.json build/bin/s2s-run build/bin/s2s-bench build/lib/libs2s_run.so \
    build/lib/libs2s_bench.so build/lib/s2s/plugins/ \
    configs/tiny.yaml runs/tiny-data/train.jsonl tests/gpu/report.py tests/gpu/references.txt \
    tests/gpu/phases.sh tests/device/on_device.txt tests/benchmark/duplex_41m.json; do
  grep -qxF "./$name" "$scratch/names" || fail "the bundle lacks $name"
done
for pattern in 'build/lib/libs2s_core\.so\.[0-9]+' 'deb/libsndfile\.so\.1' \
    'build/lib/s2s/plugins/libs2s_model_duplex_s2s\.so' \
    'tests/reference/data/hf_llama_plain\..*'; do
  grep -qxE "\./$pattern" "$scratch/names" || fail "the bundle lacks $pattern"
done
! grep -E 'libtorch|libcuda|libc\.so|libstdc' "$scratch/names" ||
  fail "the bundle has libraries of the machine"
[ "$(stat -c %s "$scratch/gpu/bundle.tar.xz")" -le $((40 << 20)) ] || fail "more than 40 MiB"

torch=$(sed -n 's/^S2S_TORCH_ROOT:[A-Z]*=//p' "$build/CMakeCache.txt")
rehearse=(bash "$scratch/gpu/run.sh" --rehearse --work "$scratch/there" --torch "$torch")
expect 0 "libraries read ahead: " "${rehearse[@]}" facts smoke
grep -q '^## On a GPU: none' "$scratch/there/results/report.md" || fail "no report"
printf 'facts\tgone\tfailed\t0\t\n' >> "$scratch/there/results/steps.tsv"
expect 0 "- facts: 3 of 3 steps passed" "${rehearse[@]}" facts
mkdir "$scratch/slow"
printf '#!/bin/sh\nsleep 300\n' > "$scratch/slow/xargs"
chmod +x "$scratch/slow/xargs"
rm "$scratch/there/tree/.read_ahead"
expect 0 "libraries read ahead: stopped after 21 s" env "PATH=$scratch/slow:$PATH" \
  "${rehearse[@]}" --phase-limit 40 facts
expect 0 "libraries read ahead: " "${rehearse[@]}" facts
! "${rehearse[@]}" facts | grep "read ahead" || fail "the libraries are read ahead again"
device=cpu
if grep -q 'libs2s_test_device\.so$' "$scratch/names"; then device=test_device; fi
expect 0 "tests of operators run on: $device" "${rehearse[@]}" tests
if [ $device = test_device ] && grep -q '/core_nn_speech_test$' "$scratch/names"; then
  grep -q '^- tests: .*on test_device:0: .*core_nn_speech_test' \
    "$scratch/there/results/report.md" || fail "the report does not say where tests ran"
fi
printf '#!/bin/sh\necho glibc 2.31\n' > "$scratch/path/getconf"
chmod +x "$scratch/path/getconf"
expect 3 "error: [gpu/glibc] this machine's glibc is 2.31" env "PATH=$scratch/path:$PATH" \
  "${rehearse[@]}" facts
echo "ok: the bundle has its parts"
