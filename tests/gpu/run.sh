#!/usr/bin/env bash
# shellcheck disable=SC2317,SC2086  # phases are called by name; numbers need no quotes
# Runs s2s on a GPU machine without a network: unpacks the bundle that tests/gpu/pack.sh made, and
# runs phases in the order in which they are named.
#
#   bash run.sh [OPTION...] PHASE...
#
#   facts         the machine, its libraries, the plugins
#   smoke         three training steps on the GPU, NCCL alone, the kernels' plugin
#   tests         the test programs of the bundle
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
#   --rounds N       rounds of the benchmarks (default: 3)
#   --phase-limit S  seconds that each phase may take (default: its own, 2 to 30 minutes)
#   --rehearse       on the CPU and with tiny models: tries this script, and measures nothing
#
# Results: DIR/results/NAME.log of each step, results.json, and report.md, a table for
# core/docs/internals/benchmarks.md. Exit code 0: all passed; 1: a step failed; 2: wrong arguments;
# 3: the machine lacks something (no GPU, no LibTorch).
set -uo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
phases_known="facts smoke tests compare train equality bench-1b bench-8b bench-duplex decode"
phases_known+=" profile"
work=$PWD/s2s-gpu python=python3 torch='' rounds=3 phase_limit='' device=gpu
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

# Sets tree, out, torch, s2s; the programs find the bundle's libraries and LibTorch's.
unpack() {
  [ -n "$(type -p "$python")" ] || fail python "no '$python'; name one with --python"
  [ -f "$here/bundle.tar.xz" ] ||
    fail bundle "no bundle.tar.xz beside $here/run.sh; make one with tests/gpu/pack.sh"
  tree=$work/tree out=$work/results
  mkdir -p "$tree" "$out" "$work/tmp" || fail work "'$work' cannot be written; name one with --work"
  work=$(cd "$work" && pwd) && tree=$work/tree out=$work/results
  local sum
  sum=$(sha256sum "$here/bundle.tar.xz")
  if [ "$(cat "$tree/.unpacked" 2> /dev/null)" != "$sum" ]; then
    rm -rf "$tree" && mkdir "$tree"
    "$python" -m tarfile -e "$here/bundle.tar.xz" "$tree" > "$out/unpack.log" 2>&1 ||
      fail bundle "the bundle cannot be unpacked: $(tail -1 "$out/unpack.log")"
    chmod +x "$tree"/build/bin/*
    echo "$sum" > "$tree/.unpacked"
  fi
  [ -n "$torch" ] || torch=$("$python" -c 'import importlib.util as u
spec = u.find_spec("torch")
print(spec.submodule_search_locations[0] if spec else "")')
  [ -f "$torch/lib/libtorch_cpu.so" ] ||
    fail torch "no LibTorch: $python has no torch; name its folder with --torch"
}

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

# tiny NAME COMMAND [OVERRIDE...]: a command on the configuration tiny.yaml; its run is runs/NAME.
tiny() {
  local name=$1 command=$2
  shift 2
  step 180 "$name" "$s2s" "$command" "$tree/configs/tiny.yaml" "tiny.data=$tree/runs/tiny-data" \
    "tiny.run=$out/runs/${run_name:-$name}" data.synth=null "trainer.accelerator=$device" "$@"
}

phase_facts() {
  step 60 facts "$python" "$tree/tests/gpu/report.py" facts "$tree" "$torch"
  step 120 libraries env "LD_LIBRARY_PATH=$libraries" "$python" "$tree/tests/gpu/report.py" \
    libraries "$tree/build"
  step 60 plugins "$s2s" plugin list
}

phase_smoke() {
  rm -rf "$out/runs/first_steps"
  tiny first_steps train trainer.max_steps=3
  local kernels=$tree/build/lib/s2s/plugins/libs2s_kernels_cuda.so
  if [ -f "$kernels" ]; then step 120 kernels_plugin "$s2s" plugin check "$kernels"
  else not_measured kernels_plugin "the bundle has no plugin 'cuda'"; fi
  if [ $device = gpu ]; then
    step 120 nccl_alone "$s2s" bench collectives --communicator nccl --size 64M
  fi
}

phase_tests() {
  local program
  for program in "$tree"/build/bin/*_test; do
    [ -x "$program" ] || { not_measured tests "the bundle has no test program"; return; }
    step 400 "$(basename "$program")" env "LD_LIBRARY_PATH=$libraries" "$program"
  done
}

phase_compare() {
  local dtype name=cuda:0
  [ $device = gpu ] || name=cpu
  for dtype in float32 bfloat16; do
    step 600 "compare_$dtype" "$python" "$tree/tests/gpu/report.py" compare "$s2s" \
      "$tree/tests/reference/data" "$tree/tests/gpu/references.txt" "$name" $dtype
  done
}

phase_train() {
  rm -rf "$out/runs"
  local name
  for name in single ddp fsdp; do tiny "train_$name" train trainer.strategy.name=$name; done
  for name in bf16-mixed bf16-true 16-mixed; do
    tiny "train_$name" train trainer.precision=$name
  done
  tiny train_offload train trainer.strategy.name=fsdp trainer.strategy.offload=params
  run_name=train_single tiny resume train trainer.max_steps=14
  run_name=train_single tiny validate validate --checkpoint "$out/runs/train_single"
  local answer=("$tree/runs/tiny-data/audio/dev" --checkpoint "$out/runs/train_single" --force)
  run_name=train_single tiny generate generate --input "${answer[@]}" --output "$out/answers"
  run_name=train_single tiny generate_stream generate --stream --input "${answer[@]}" \
    --output "$out/answers_stream"
}

phase_equality() {
  rm -rf "$out"/runs/equal_*
  local report=("$python" "$tree/tests/gpu/report.py" losses)
  tiny equal_cpu train trainer.accelerator=cpu
  tiny equal_gpu train
  tiny equal_again train
  S2S_KERNELS=plain tiny equal_plain train
  step 30 losses_cpu "${report[@]}" "$out"/runs/equal_{cpu,gpu} 2e-3
  step 30 losses_plain "${report[@]}" "$out"/runs/equal_{plain,gpu} 1e-3
  step 30 losses_again "${report[@]}" "$out"/runs/equal_{gpu,again} 1e-3
}

# bench NAME PRESET POSITIONS ROWS RECOMPUTE [PRECISION]: ours and the peers that the machine has.
bench() {
  local name=$1 preset=$2 positions=$3 rows=$4 recompute=$5 precision=bf16-true steps=20
  if [ $device = cpu ]; then preset=tiny positions=64 rows=1 precision=32-true steps=2; fi
  local common=(--preset "$preset" --device "$device" --precision "$precision")
  common+=(--positions "$positions" --batch-size "$rows" --steps "$steps")
  common+=(--recompute "$recompute" --init fast)
  rm -rf "${out:?}/$name"
  local variants=()
  if "$python" -c 'import torch, safetensors' 2> /dev/null; then
    variants=(plain)
    [ $device = cpu ] || variants+=(plain-compile)
    if "$python" -c 'import transformers' 2> /dev/null; then
      variants+=(eager)
      [ $device = cpu ] || variants+=(compile)
    fi
  fi
  if [ ${#variants[@]} -gt 0 ]; then
    step 1800 "$name" "$python" "$tree/tests/benchmark/compare_llm.py" --ours "$s2s" \
      "${common[@]}" --rounds "$rounds" --limit 400 --keep "$out/$name" \
      --variants "${variants[@]}"
  else
    not_measured "${name}_peers" "Python has no safetensors"
    step 600 "$name" "$s2s" bench llm "${common[@]}" --json
  fi
  [ $device = cpu ] || step 400 "${name}_plain_kernels" env S2S_KERNELS=plain "$s2s" bench llm \
    "${common[@]}" --no-ceilings --json
}

# Of the first GPU, in MiB; 0 without one.
gpu_memory() {
  local mib
  mib=$(nvidia-smi --query-gpu=memory.total --format=csv,noheader,nounits 2> /dev/null | head -1)
  echo "${mib:-0}"
}

phase_bench-1b() { bench bench-1b 1.1b 2048 8 none; }
phase_bench-8b() {
  # 64 GB are parameters, gradients and moments; 80 GB have no room for all activations.
  if [ "$(gpu_memory)" -lt 100000 ]; then bench bench-8b 8b 4096 1 full
  else bench bench-8b 8b 4096 1 none; fi
}

# duplex NAME ROWS SECONDS STEPS [PRECISION]
duplex() {
  local options=$tree/tests/benchmark/duplex_1.1b.json precision=${5:-bf16-mixed}
  if [ $device = cpu ]; then options=$tree/tests/benchmark/duplex_41m.json precision=32; fi
  step 300 "$1" "$s2s" bench model --options "$options" --precision $precision --batch-size "$2" \
    --seconds "$3" --steps "$4" --device "$device"
}

phase_bench-duplex() {
  local round
  for round in $(seq "$rounds"); do
    if [ $device = cpu ]; then duplex "duplex_$round" 1 2 1; else duplex "duplex_$round" 8 20 10; fi
  done
}

phase_decode() {
  local rows
  for rows in 1 8 32; do
    if [ $device = cpu ]; then duplex "decode_$rows" 1 2 1; break; fi
    # Under autocast frames are not repeated as graphs.
    duplex "decode_$rows" $rows 10 1 bf16-true
    S2S_GRAPHS=off duplex "decode_${rows}_plain" $rows 10 1 bf16-true
  done
}

phase_profile() {
  local words=(bench llm --preset 1.1b --positions 2048 --batch-size 8 --precision bf16-true)
  [ $device = gpu ] || words=(bench llm --preset tiny --positions 64 --batch-size 1)
  words+=(--device "$device" --steps 3 --warm-up 2 --no-ceilings --init fast)
  step 300 timeline "$s2s" "${words[@]}" --profile "$out/timeline.json" --force --json
  if [ -n "$(type -p ncu)" ]; then
    step 300 kernels ncu --clock-control none --set basic --kernel-name regex:s2s_ \
      --launch-count 16 "$s2s" "${words[@]}"
  else not_measured kernels "the machine has no ncu"; fi
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
unpack
write_wrapper
[ $device = gpu ] || say "a rehearsal on the CPU: nothing here says anything about speed"
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
