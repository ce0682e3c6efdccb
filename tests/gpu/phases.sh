# shellcheck shell=bash disable=SC2154,SC2317,SC2086  # run.sh sets them; called by name; numbers
# The phases of run.sh, which reads this file from the bundle. It gives: step, not_measured, device
# (gpu or cpu), rounds, python, and the paths tree (the bundle), out (results), s2s, libraries.

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

# test_program DEVICE NAME [FILE,FILE...]
test_program() {
  local program=$tree/build/bin/$2
  if [ ! -x "$program" ]; then not_measured "$2" "the bundle does not have it"; return; fi
  step 400 "$2" env "LD_LIBRARY_PATH=$libraries" "$python" "$tree/tests/gpu/report.py" test \
    "$1" "$program" "${@:3}"
}

# Tests of operators compute where S2S_DEVICE_LIBRARY says, and otherwise on the CPU, also on a
# machine with a GPU.
phase_tests() {
  local where=cpu library='' listed=$tree/tests/device/on_device.txt lines line program
  if [ $device = gpu ]; then where=cuda library=libtorch_cuda.so
  elif [ -f "$tree/build/lib/libs2s_test_device.so" ]; then
    where=test_device library=$tree/build/lib/libs2s_test_device.so
  fi
  say "  tests of operators run on: $where"
  mapfile -t lines < <(grep '^[a-z]' "$listed")
  for line in "${lines[@]}"; do
    if [ -z "$library" ]; then test_program $where $line
    else S2S_DEVICE_LIBRARY=$library test_program $where $line; fi
  done
  # The others open a GPU by themselves, and skip aloud without one.
  [ $where = cuda ] || where=none
  for program in "$tree"/build/bin/*_test; do
    program=$(basename "$program")
    grep -qE "^$program( |$)" "$listed" || [ ! -x "$tree/build/bin/$program" ] ||
      test_program $where "$program"
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
