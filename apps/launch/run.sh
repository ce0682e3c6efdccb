#!/bin/bash
# usage: [PROFILING=1] [PROFILE_STEPS=B-E] [RANKS=N] [S2S_RUN=PATH] run.sh FILE.yaml [KEY=VALUE...]
#
# Trains on this machine, for debugging and quick checks: one rank for each GPU (RANKS ranks), under
# torchrun if it is installed, else under `s2s-run launch local`. PROFILING=1 runs it under NVIDIA
# Nsight Systems, which writes profile.nsys-rep (another name: PROFILE=NAME). It records the whole
# run, or the optimizer steps from B to E, counted from 0.
set -euo pipefail

[ $# -ge 1 ] || { sed -n '2,7s/^# \{0,1\}//p' "$0" >&2; exit 2; }
ranks=${RANKS:-$( (nvidia-smi --list-gpus || true) 2> /dev/null | wc -l)}
[ "$ranks" -ge 1 ] || ranks=1
run=("${S2S_RUN:-s2s-run}")
if type -P torchrun > /dev/null; then
  start=(torchrun --no-python --standalone --nproc-per-node "$ranks" "${run[@]}")
else
  start=("${run[@]}" launch local --num-ranks "$ranks" --)
fi
case ${PROFILING:-0} in
  '' | 0 | false | False) ;;
  *) nsys=(nsys profile --sample=none "--trace=cuda,nvtx,osrt" --force-overwrite=true
       --output="${PROFILE:-profile}")
     if [ -n "${PROFILE_STEPS:-}" ]; then
       nsys+=(--capture-range=cudaProfilerApi --capture-range-end=stop)
       steps="begin_step: ${PROFILE_STEPS%%-*}, end_step: ${PROFILE_STEPS##*-}"
       set -- "$@" "trainer.profile={$steps, tool: nsys, ranks: []}"
     fi
     start=("${nsys[@]}" "${start[@]}") ;;
esac
exec "${start[@]}" train "$@"
