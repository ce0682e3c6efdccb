#!/usr/bin/env bash
# The demo from Shar directories, killed at ten random moments: are its metrics those of a run that
# nothing stopped, bit for bit?
#
#   bash tests/benchmark/kill_ten_times.sh [OPTION VALUE ...]
#
#   --data    the demo's data (apps/demo/run.sh makes it; default runs/demo-data-full)
#   --runs    where the Shar directories and both runs go (default runs/kill)
#   --steps   optimizer steps (default 120)
#   --kills   kill -9 so often (default 10)
#   --random  of the moments (default: another at each start; it is printed)
#
# Two weighted sources, dynamic buckets, four loading threads; a checkpoint each twenty steps.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cd "$root"
data=runs/demo-data-full runs=runs/kill steps=120 kills=10 random=$RANDOM
while [ $# -gt 0 ]; do
  case $1 in
    --data) data=$2; shift ;;
    --runs) runs=$2; shift ;;
    --steps) steps=$2; shift ;;
    --kills) kills=$2; shift ;;
    --random) random=$2; shift ;;
    *) sed -n '2,13p' "${BASH_SOURCE[0]}" | sed 's/^# \{0,1\}//'; exit 2 ;;
  esac
  shift
done
s2s=build/bin/s2s-run
[ -f "$data/train.jsonl" ] ||
  { echo "no $data/train.jsonl; 'bash apps/demo/run.sh' makes it" >&2; exit 2; }
mkdir -p "$runs"

# Every third dialogue in one set, the others in another; audio paths are relative to the manifest.
awk -v a="$data/train.third.jsonl" -v b="$data/train.rest.jsonl" \
  '{ print > (NR % 3 == 0 ? a : b) }' "$data/train.jsonl"
for part in third rest; do
  [ -e "$runs/shar-$part" ] && continue
  rm -rf "$runs/shar-$part.partial"
  "$s2s" data shar "$data/train.$part.jsonl" "$runs/shar-$part.partial" \
    --fields recording=flac,target_audio=flac --shard-size 200
  mv "$runs/shar-$part.partial" "$runs/shar-$part"
done

sources="[{type: lhotse_shar, shar_path: $runs/shar-third, weight: 0.6},
  {type: lhotse_shar, shar_path: $runs/shar-rest, weight: 0.4}]"
train=("$s2s" train configs/demo.yaml "demo.data=$data" "trainer.max_steps=$steps"
  "data.train_ds={cuts_path: null, batch_size: null, concatenate: null, input_cfg: $sources,
    batch_duration: 24, use_bucketing: true, num_buckets: 4, bucket_buffer_size: 400,
    num_cuts_for_bins_estimate: 400,
    shuffle: true, shuffle_buffer_size: 200, seed: 42, shard_seed: 42, num_workers: 4}"
  trainer.val_check_interval=40 trainer.limit_val_batches=1 model.lr_scheduler.warmup_steps=5
  "model.stages.1.from_step=$((steps / 3))" "model.stages.2.from_step=$((steps * 2 / 3))"
  exp_manager.checkpoint_callback_params.every_n_train_steps=20)
steps_of() {  # RUN: optimizer steps in its metrics
  [ -f "$1/metrics.jsonl" ] || { echo 0; return; }
  grep -c '"learning_rate"' "$1/metrics.jsonl" || true
}

echo "== a run that nothing stops"
rm -rf "$runs/straight" "$runs/killed"
"${train[@]}" "demo.run=$runs/straight" > "$runs/straight.log" 2>&1

echo "== the same, killed $kills times (--random $random)"
RANDOM=$random
for kill in $(seq "$kills"); do
  "${train[@]}" "demo.run=$runs/killed" >> "$runs/killed.log" 2>&1 &
  process=$!
  # So many steps more, and a part of one.
  until=$(($(steps_of "$runs/killed") + 1 + RANDOM % (steps / kills)))
  while kill -0 "$process" 2> /dev/null && [ "$(steps_of "$runs/killed")" -lt "$until" ]; do
    sleep 0.05
  done
  sleep "0.$((RANDOM % 10))"
  kill -KILL "$process" 2> /dev/null || echo "   it had ended"
  wait "$process" 2> /dev/null || true
  echo "   kill $kill after $(steps_of "$runs/killed") steps in metrics.jsonl"
done
"${train[@]}" "demo.run=$runs/killed" >> "$runs/killed.log" 2>&1

python3 tests/launchers/compare_metrics.py "$runs/straight" "$runs/killed" 0
for file in model.safetensors optimizer.safetensors random.safetensors state.json; do
  cmp "$runs/straight/checkpoints/last/$file" "$runs/killed/checkpoints/last/$file"
done
echo "equal bit for bit: metrics (times and memory aside), weights, optimizer, random state,"
echo "position in the data"
