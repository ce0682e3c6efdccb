#!/bin/bash
# usage: slurm_jobs_test.sh S2S_RUN TORCH_FOLDER
# s2s-run launch slurm on two nodes of a cluster that slurm_cluster.sh makes here: submit, the
# warning before the time limit, requeue, resume, and N jobs in a row.
set -uo pipefail
s2s_run=$1
if [ "${3:-}" != inside ]; then
  exec bash "$(dirname "$0")/slurm_cluster.sh" bash "$0" "$s2s_run" "$2" inside
fi
source "$(dirname "$0")/checks.sh"
source "$(dirname "$0")/train_checks.sh"
cd "$folder" || exit 1

words_of run trainer.strategy.name=ddp trainer.max_steps=100000 \
  exp_manager.checkpoint_callback_params.every_n_train_steps=1000000
job=(launch slurm --nodes 2 -n 2 --gpus-per-node 0 --cpus-per-rank 1 --time 10 --program "$s2s_run"
  --log job.%j.log)
num_steps() { grep -c learning_rate "$folder/run/metrics.jsonl" 2> /dev/null || true; }
submit() { # submit STYLE FILE WORDS...: sets `id`
  expect_code 0 "$2" "$s2s_run" "${job[@]}" --style "$1" --job-name "job_$1" --force --submit \
    "${@:3}" -- "${train[@]}"
  id=$(sed -nE 's/^job ([0-9]+).*/\1/p' "$2" | head -n 1)
}
wait_for_state() { # wait_for_state ID STATE: "" when it has left the queue
  for _ in $(seq 300); do
    [ "$(squeue -h -j "$1" -o %T 2> /dev/null)" = "$2" ] && return
    sleep 0.2
  done
  complain "job $1 is not '$2'" "$folder/job.$1.log"
}

styles=(task node)
python=$2/../../../../bin/python3
if [ -x "$python" ] && "$python" -W ignore -c 'import torch.distributed.run' 2> /dev/null; then
  styles+=(torchrun)
  mkdir tools
  printf '#!/bin/sh\nexec "%s" -W ignore -m torch.distributed.run "$@"\n' "$python" > tools/torchrun
  chmod +x tools/torchrun
  export PATH=$folder/tools:$PATH
fi
for style in "${styles[@]}"; do
  # Two ranks on each of two nodes. The warning comes as SLURM sends it, to all steps.
  submit "$style" "$folder/submitted"
  before=$(num_steps)
  wait_for_lines "$folder/run/metrics.jsonl" $((${before:-0} + 2)) learning_rate
  expect_text "$folder/run/log.txt" "rank 0 of 4"
  scancel -s USR1 "$id"
  # It ends with 8, and the script requeues it. SLURM holds a requeued job back for two minutes;
  # slurmd refuses one that starts in the second in which it was ended.
  wait_for_lines "$folder/job.$id.log" 1 "run the same command to continue"
  wait_for_state "$id" PENDING
  sleep 3
  for _ in $(seq 180); do
    scontrol update "JobId=$id" StartTime=now 2> /dev/null
    grep -q "resumed from" "$folder/job.$id.log" && break
    sleep 1
  done
  wait_for_lines "$folder/job.$id.log" 1 "resumed from"
  stopped=$(readlink "$folder/run/checkpoints/last")
  expect_text "$folder/job.$id.log" "resumed from" "${stopped#step=}"
  scancel "$id"
  wait_for_state "$id" ""
done

# N jobs in a row: each goes on where the one before stopped, with a seed that the run records.
words_of chain trainer.strategy.name=ddp trainer.max_steps=100000 \
  exp_manager.max_time_per_run=00:00:00:02
expect_code 0 "$folder/chain.out" "$s2s_run" "${job[@]}" --job-name chain --submit --jobs 2 \
  -- "${train[@]}"
mapfile -t ids < <(sed -nE 's/^job ([0-9]+).*/\1/p' "$folder/chain.out")
mapfile -t seeds < <(sed -nE 's/.*data.train_ds.seed=([0-9]+)$/\1/p' "$folder/chain.out")
for i in 0 1; do
  wait_for_lines "$folder/job.${ids[$i]}.log" 1 "run the same command to continue"
  for _ in $(seq 50); do
    grep -q "seed: ${seeds[$i]}" "$folder/chain/config.yaml" && break
    sleep 0.1
  done
  grep -q "seed: ${seeds[$i]}" "$folder/chain/config.yaml" ||
    complain "the run does not record its seed ${seeds[$i]}" "$folder/chain/config.yaml"
done
[ "${seeds[0]}" != "${seeds[1]}" ] || complain "two jobs have one seed" "$folder/chain.out"
expect_text "$folder/job.${ids[1]}.log" "resumed from"

finish "launch slurm"
