#!/usr/bin/env bash
# shellcheck disable=SC2086,SC2317  # numbers need no quotes; phases.sh calls functions
# Runs s2s on a GPU machine without a network: unpacks the bundle that tests/gpu/pack.sh made, and
# runs phases in the order in which they are named.
#
#   bash run.sh [OPTION...] PHASE...
#
#   facts         the machine, its libraries, the plugins
#   smoke         three training steps on the GPU, NCCL alone, the kernels' plugin
#   tests         the test programs of the bundle; each has to say that it computed on the GPU
#   compare       every reference file on the GPU, in float32 and bfloat16
#   train         strategies, precisions, offload, resume, validate, generate, on tiny data
#   equality      losses of the GPU, of the GPU with S2S_KERNELS=plain, and of the CPU
#   bench-1b      training steps of 1.1 billion parameters; ours, transformers', PyTorch's
#   bench-8b      the same of 8 billion
#   bench-duplex  training steps of a duplex model with 1.2 billion parameters
#   decode        time of a frame while a duplex model answers, for 1, 8 and 32 conversations, with
#                 graphs and with S2S_GRAPHS=off
#   profile       a timeline of one step, and the kernels' counters where ncu is there
#   all           all of them
#
#   --work DIR       where it is unpacked and results are written (default: s2s-gpu, here)
#   --python FILE    a Python that can import torch (default: python3)
#   --torch DIR      LibTorch's folder, with include and lib (default: that Python's)
#   --rounds N       rounds of the benchmarks (default: 3; in a rehearsal 2)
#   --phase-limit S  seconds that each phase may take (default: its own, 2 to 30 minutes)
#   --rehearse       on the CPU and with tiny models: tries this script, and measures nothing;
#                    tests of operators run on the test device if the bundle has it
#
# Results: DIR/results/NAME.log of each step, results.json, and report.md, a table for
# core/docs/internals/benchmarks.md. Exit code 0: all passed; 1: a step failed; 2: wrong arguments;
# 3: the machine lacks something (no GPU, no LibTorch).
set -uo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
phases_known="facts smoke tests compare train equality bench-1b bench-8b bench-duplex decode"
phases_known+=" profile"
work=$PWD/s2s-gpu python=python3 torch='' rounds='' phase_limit='' device=gpu
read_ahead_limit=60
phases=()

say() { printf '%s\n' "$*"; }
fail() { printf 'error: [gpu/%s] %s\n' "$1" "$2" >&2; exit "${3:-3}"; }
usage() { sed -n '/^# Runs/,/^[^#]/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; }

parse_arguments() {
  while [ $# -gt 0 ]; do
    case $1 in
      --work|--python|--torch|--rounds|--phase-limit)
        [ -n "${2:-}" ] || fail usage "$1 needs a value; see --help" 2
        case $1 in
          --phase-limit) phase_limit=$2 ;;
          *) printf -v "${1#--}" '%s' "$2" ;;
        esac
        shift ;;
      --rehearse) device=cpu ;;
      -h|--help) usage; exit 0 ;;
      all) read -ra phases <<< "$phases_known" ;;
      *) [[ " $phases_known " = *" $1 "* ]] ||
           fail usage "unknown phase or option '$1'; expected some of: $phases_known" 2
         phases+=("$1") ;;
    esac
    shift
  done
  [ ${#phases[@]} -gt 0 ] || fail usage "no phase is named; expected some of: $phases_known" 2
  [ -n "$rounds" ] || rounds=$([ $device = cpu ] && echo 2 || echo 3)
  [[ $rounds =~ ^[1-9][0-9]*$ ]] || fail usage "--rounds, '$rounds', expected a number from 1 on" 2
  [[ $phase_limit =~ ^([1-9][0-9]*)?$ ]] ||
    fail usage "--phase-limit, '$phase_limit', expected seconds" 2
}

require_gpu() {
  [ $device = gpu ] || return 0
  local seen
  [ -n "$(type -p nvidia-smi)" ] ||
    fail none "no GPU: this machine has no nvidia-smi, so no driver; --rehearse runs on the CPU"
  seen=$(nvidia-smi -L 2>&1)
  [[ $seen = *GPU\ 0* ]] ||
    fail none "no GPU: nvidia-smi says '$(head -1 <<< "$seen")'; --rehearse runs on the CPU"
}

find_torch() {
  [ -n "$(type -p "$python")" ] || fail python "no '$python'; name one with --python"
  [ -n "$torch" ] || torch=$("$python" -c 'import importlib.util as u
spec = u.find_spec("torch")
print(spec.submodule_search_locations[0] if spec else "")')
  [ -f "$torch/lib/libtorch_cpu.so" ] ||
    fail torch "no LibTorch: $python has no torch; name its folder with --torch"
}

# Sets tree, out; work becomes absolute.
make_work() {
  mkdir -p "$work"/{tree,results,tmp} || fail work "'$work' cannot be written; name one with --work"
  work=$(cd "$work" && pwd) && tree=$work/tree out=$work/results
}

# A disk that reads slowly must not eat the limits of the first steps: the libraries are read while
# the bundle is unpacked, and no step begins before. Once for each start of the machine.
begin_read_ahead() {
  local folders=("$torch/lib")
  boot=$(cat /proc/sys/kernel/random/boot_id 2> /dev/null || echo unknown) reading=''
  [ "$(cat "$tree/.read_ahead" 2> /dev/null)" != "$boot" ] || return 0
  [ $device = cpu ] || folders+=("$(dirname "$torch")/nvidia")
  # Who gives phases little time has little for this.
  [ $read_ahead_limit -lt $((${phase_limit:-600} / 2 + 1)) ] ||
    read_ahead_limit=$((phase_limit / 2 + 1))
  # shellcheck disable=SC2016  # the inner shell's
  timeout $read_ahead_limit bash -c '
    bytes=$(find "$@" -name "*.so*" -type f -size +1M -print0 2> /dev/null |
      xargs -0 -r -n 1 -P 8 cat | wc -c)
    echo "$((bytes >> 20)) MiB in $SECONDS s"' read_ahead "${folders[@]}" > "$work/read_ahead" &
  reading=$!
  trap 'kill $reading 2> /dev/null' EXIT
}

end_read_ahead() {
  [ -n "$reading" ] || return 0
  wait $reading
  trap - EXIT
  if [ -s "$work/read_ahead" ]; then
    say "libraries read ahead: $(cat "$work/read_ahead")"
    echo "$boot" > "$tree/.read_ahead"
  else say "libraries read ahead: stopped after $read_ahead_limit s; first steps may be slow"; fi
}

unpack() {
  local sum
  sum=$(sha256sum "$here/bundle.tar.xz")
  if [ "$(cat "$tree/.unpacked" 2> /dev/null)" != "$sum" ]; then
    rm -rf "$tree" && mkdir "$tree"
    "$python" -m tarfile -e "$here/bundle.tar.xz" "$tree" > "$out/unpack.log" 2>&1 ||
      fail bundle "the bundle cannot be unpacked: $(tail -1 "$out/unpack.log")"
    chmod +x "$tree"/build/bin/*
    echo "$sum" > "$tree/.unpacked"
  fi
}

# The programs find the bundle's libraries and LibTorch's.
write_wrapper() {
  local nvidia folder
  nvidia=$(for folder in "$(dirname "$torch")"/nvidia/*/lib; do
    [ ! -d "$folder" ] || printf '%s:' "$folder"
  done)
  # What the machine has set comes last and stays: the driver's folder may be in it.
  libraries=$tree/deb:$tree/build/lib:$torch/lib:${nvidia%:}
  libraries+=${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
  s2s=$tree/s2s-run
  printf '#!/bin/bash\nLD_LIBRARY_PATH=%q exec %q "$@"\n' "$libraries" "$tree/build/bin/s2s-run" \
    > "$s2s"
  chmod +x "$s2s"
  export S2S_TEST_SOURCE_DIR=$tree S2S_TEST_BINARY_DIR=$tree/build TMPDIR=$work/tmp
  require_versions
}

bundle_value() {  # bundle_value KEY: of bundle.json
  "$python" -c 'import json, sys; print(json.load(open(sys.argv[1]))[sys.argv[2]])' \
    "$tree/bundle.json" "$1"
}

require_versions() {
  local need have
  need=$(bundle_value torch)
  have=$(cut -d+ -f1 < "$torch/version.py" 2> /dev/null |
    sed -n "s/^__version__ = '\([0-9.]*\).*/\1/p")
  [ -z "$have" ] || [ "$have" = "$need" ] ||
    fail torch "LibTorch in $torch is $have and the bundle was built with $need; name another with\
 --torch, or build with that version"
  need=$(bundle_value glibc)
  have=$(getconf GNU_LIBC_VERSION 2> /dev/null | sed 's/.* //')
  [ -z "$have" ] || [ "$(printf '%s\n' "$need" "$have" | sort -V | head -n 1)" = "$need" ] ||
    fail glibc "this machine's glibc is $have and the bundle needs $need or newer; use a newer\
 system or a container with one, or build on an older one"
}

# The rest of the phase's time, at most $1.
seconds_left() {
  local left=$((phase_end - SECONDS))
  [ $left -lt "$1" ] && echo $left || echo "$1"
}

failed=()
note() { printf '%s\t%s\t%s\t%s\t%s\n' "$phase" "$1" "$2" "$3" "$4" >> "$out/steps.tsv"; }

# step LIMIT NAME COMMAND...: output in NAME.log; of a JSON object's last line also in NAME.json.
step() {
  local limit name=$2 begin=$SECONDS rc log=$out/$2.log
  limit=$(seconds_left "$1")
  shift 2
  printf '  %-28s ' "$name"
  rm -f "$out/$name.json"
  if [ "$limit" -lt 1 ]; then
    say "not run: the phase's time is over"
    note "$name" skipped 0 "the phase's time is over"
    failed+=("$name")
    return 1
  fi
  timeout -k 10 "$limit" "$@" > "$log" 2>&1
  rc=$?
  local took=$((SECONDS - begin))
  if [ $rc = 0 ]; then
    tail -n 1 "$log" | grep '^{' > "$out/$name.json" || rm -f "$out/$name.json"
    say "ok, $took s"
    note "$name" ok $took ""
    return 0
  fi
  local why="exit code $rc"
  [ $rc != 124 ] && [ $rc != 137 ] || why="stopped after $limit s"
  say "FAILED: $why; the end of $log:"
  tail -n 15 "$log" | sed 's/^/    | /'
  note "$name" failed $took "$why"
  failed+=("$name")
  return 1
}

# What an earlier call wrote about this phase.
forget_phase() {
  [ ! -f "$out/steps.tsv" ] || sed -i "/^$phase\t/d" "$out/steps.tsv"
}

not_measured() {  # not_measured NAME WHY: nothing failed, and nothing was measured
  printf '  %-28s not measured: %s\n' "$1" "$2"
  note "$1" "not measured" 0 "$2"
}

limit_of() {  # limit_of PHASE: seconds
  case $1 in
    facts|smoke) echo 300 ;;
    bench-1b|bench-8b) echo 1800 ;;
    tests|train) echo 900 ;;
    *) echo 600 ;;
  esac
}

report() {
  "$python" "$tree/tests/gpu/report.py" write "$out" $device > "$out/report.log" 2>&1 &&
    { cat "$out/report.log"; say "results: $out/report.md, $out/results.json"; return; }
  say "FAILED: no report: $(tail -n 1 "$out/report.log")"
  failed+=(report)
}

parse_arguments "$@"
require_gpu
[ -f "$here/bundle.tar.xz" ] ||
  fail bundle "no bundle.tar.xz beside $here/run.sh; make one with tests/gpu/pack.sh"
find_torch
make_work
begin_read_ahead
unpack
end_read_ahead
write_wrapper
# shellcheck source=tests/gpu/phases.sh
. "$tree/tests/gpu/phases.sh"
if [ $device = cpu ]; then
  say "a rehearsal on the CPU: nothing here says anything about speed"
  export OMP_WAIT_POLICY=PASSIVE  # threads that spin stand in each other's way on a busy machine
fi
for phase in "${phases[@]}"; do
  phase_end=$((SECONDS + ${phase_limit:-$(limit_of "$phase")}))
  say "$phase"
  forget_phase
  "phase_$phase"
done
report
if [ ${#failed[@]} = 0 ]; then say "all passed, $SECONDS s"; exit 0; fi
say "failed: ${failed[*]}"
exit 1
