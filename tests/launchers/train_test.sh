#!/bin/bash
# usage: train_test.sh S2S_RUN SLOW_FIRST_RANK.so
# Training on several ranks: the numbers of one process, agreed stops, and ends that leave nobody
# waiting.
set -uo pipefail
s2s_run=$1
slow_first_rank=$2
source "$(dirname "$0")/checks.sh"
source "$(dirname "$0")/train_checks.sh"
launch=("$s2s_run" launch local)
num_steps() { grep -c learning_rate "$folder/$1/metrics.jsonl" 2> /dev/null || true; }

# Nothing is written before the ranks agree on what they do.
words_of refused
expect_code 7 "$folder/mesh" "${launch[@]}" -n 2 -- "${train[@]}"
expect_text "$folder/mesh" "error: [comm/mesh] the mesh has 1 rank" "2 were started"
[ "$(grep -c "error: " "$folder/mesh")" = 1 ] || complain "not one message" "$folder/mesh"
words_of refused trainer.strategy.name=ddp trainer.strategy.data_parallel_size=3
expect_code 7 "$folder/size" "${launch[@]}" -n 2 -- "${train[@]}"
expect_text "$folder/size" "error: [comm/mesh] the mesh has 3 ranks" "2 were started"
words_of refused trainer.strategy.name=ddp trainer.devices=4 trainer.num_nodes=2
expect_code 7 "$folder/devices" "${launch[@]}" -n 2 -- "${train[@]}"
expect_text "$folder/devices" "[comm/mesh] trainer.devices is 4 and trainer.num_nodes is 2" \
  "2 processes were started on each of 1 machine"
words_of refused trainer.communicator.timeout=3
expect_code 3 "$folder/key" "$s2s_run" "${train[@]}"
expect_text "$folder/key" "did you mean 'timeout_s'?"

# by_hand RANK FILE WORDS...: one of two ranks, in the background.
by_hand() {
  local rank=$1 file=$2
  shift 2
  RANK=$rank WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=$port \
    timeout 120 "$s2s_run" "$@" trainer.strategy.name=ddp > "$file" 2>&1 &
}
expect_job() {  # expect_job CODE FILE
  wait "$job"
  local code=$?
  [ "$code" = "$1" ] || complain "exit code $code instead of $1" "$2"
}
port=$(free_port)
words_of refused
by_hand 1 "$folder/seed.1" "${train[@]}" trainer.seed=5
by_hand 0 "$folder/seed.0" "${train[@]}" trainer.seed=4
job=$! expect_job 7 "$folder/seed.0"
wait
expect_text "$folder/seed.0" "[comm/ranks-differ]" "trainer.seed: 4 (rank 0), 5 (rank 1)"

# A rank without its configuration ends at once, the other when it has waited.
by_hand 1 "$folder/none.1" train "$folder/no.yaml"
job=$! expect_job 3 "$folder/none.1"
by_hand 0 "$folder/none.0" "${train[@]}" trainer.communicator.start_timeout_s=2
job=$! expect_job 7 "$folder/none.0"
expect_text "$folder/none.0" "[comm/missing-rank] 1 of 2 ranks did not join within 2 s: 1"
[ -e "$folder/refused" ] && complain "something was written" "$folder/seed.0"

# What rank 0 cannot do ends the others, too.
touch "$folder/file"
words_of file/run
by_hand 1 "$folder/first.1" "${train[@]}"
second=$!
by_hand 0 "$folder/first.0" "${train[@]}"
job=$! expect_job 5 "$folder/first.0"
job=$second expect_job 7 "$folder/first.1"
expect_text "$folder/first.0" "error: [run/folder]"
expect_text "$folder/first.1" "[comm/rank-0-failed] rank 1 ends because rank 0 failed" \
  "(run folder): [run/folder]"

expect_code 5 "$folder/first" "${launch[@]}" -n 2 -- "${train[@]}" trainer.strategy.name=ddp
expect_text "$folder/first" "error: [run/folder]"
[ "$(grep -c "error: " "$folder/first")" = 1 ] || complain "not one message" "$folder/first"

# Also when rank 0 takes seconds to end, as it may on a busy machine.
LD_PRELOAD=$slow_first_rank expect_code 5 "$folder/slow" \
  "${launch[@]}" -n 2 -- "${train[@]}" trainer.strategy.name=ddp
[ "$(grep -c "error: " "$folder/slow")" = 1 ] || complain "not one message" "$folder/slow"

# Two and three ranks, the first of them with data and tokenizer still to be made.
words_of two trainer.strategy.name=ddp trainer.devices=2 trainer.num_nodes=1
expect_code 0 "$folder/two.out" "${launch[@]}" -n 2 -- "${train[@]}"
grep -q '^\[rank 1\]' "$folder/two.out" && complain "rank 1 speaks" "$folder/two.out"
expect_text "$folder/two/log.1.txt" "rank 1 of 2, started by s2s-run launch local" "step 10 "
train_alone one trainer.accumulate_grad_batches=2
expect_same_metrics one two
words_of three trainer.strategy.name=ddp trainer.devices=-1 trainer.accumulate_grad_batches=2
expect_code 0 "$folder/three.out" "${launch[@]}" -n 3 -- "${train[@]}"
train_alone six trainer.accumulate_grad_batches=6
expect_same_metrics six three
# Layouts that split the model.
words_of split "trainer.strategy={name: fsdp}"
expect_code 0 "$folder/split.out" "${launch[@]}" -n 2 -- "${train[@]}"
expect_same_metrics one split
words_of tensor "trainer.strategy={name: model_parallel, tensor_parallel_size: 2}"
expect_code 0 "$folder/tensor.out" "${launch[@]}" -n 2 -- "${train[@]}"
train_alone plain
expect_same_metrics plain tensor 1e-4
# A run may go on with another layout and number of ranks.
for run in one two split; do
  words_of $run trainer.max_steps=14
  expect_code 0 "$folder/more.out" "$s2s_run" "${train[@]}" trainer.accumulate_grad_batches=2
done
expect_same_metrics one two
expect_same_metrics one split
words_of tensor trainer.max_steps=14 trainer.strategy.name=ddp
expect_code 0 "$folder/more.out" "${launch[@]}" -n 2 -- "${train[@]}"
expect_text "$folder/more.out" "resumed from" "train: 14 steps"

# Validation, its answers included: one report of all ranks.
checkpoint=$folder/one/checkpoints/last
validate=(validate "$config" "tiny.data=$folder/data" "tiny.run=$folder/one" --json
  --checkpoint "$checkpoint")
"$s2s_run" "${validate[@]}" --report "$folder/report" > "$folder/report.json" \
  2> "$folder/report.err" || complain "validate fails" "$folder/report.err"
for strategy in "{name: ddp}" "{name: fsdp}" "{name: model_parallel, tensor_parallel_size: 2}"; do
  "${launch[@]}" -n 2 -- "${validate[@]}" --report "$folder/shared" --force \
    "trainer.strategy=$strategy" \
    > "$folder/shared.json" 2> "$folder/shared.err" || complain "it fails" "$folder/shared.err"
  python3 "$launchers/compare_json.py" "$folder/report.json" "$folder/shared.json" 1e-5 \
    2> "$folder/compared" || complain "another report under $strategy" "$folder/compared"
done

# float16 with its loss scale.
for precision in 16-mixed bf16-mixed; do
  words_of "two-$precision" trainer.strategy.name=ddp trainer.precision=$precision
  expect_code 0 "$folder/half" "${launch[@]}" -n 2 -- "${train[@]}"
  train_alone "one-$precision" trainer.accumulate_grad_batches=2 trainer.precision=$precision
  expect_same_metrics "one-$precision" "two-$precision" 1e-3
done
grep -q '"loss_scale":65536' "$folder/two-16-mixed/metrics.jsonl" ||
  complain "no loss scale" "$folder/half"

# A loss that is not finite ends all ranks, and says whose data it was.
words_of nan trainer.strategy.name=ddp model.optimizer.lr=1e30 model.lr_scheduler.warmup_steps=0
expect_code 6 "$folder/nan.out" "${launch[@]}" -n 2 -- "${train[@]}"
expect_text "$folder/nan.out" "error: [numerics/not-finite]" "data rank" "train-0"

# A stop that one rank is asked for.
long=(trainer.max_steps=60 exp_manager.checkpoint_callback_params.every_n_train_steps=25)
start_long() {  # start_long NAME FILE WORDS...
  words_of "$1" trainer.strategy.name=ddp "${long[@]}" "${@:3}"
  "${launch[@]}" -n 2 -- "${train[@]}" > "$2" 2>&1 &
  launcher=$!
}
process_of_rank() {
  local child
  for child in $(pgrep -P "$launcher"); do
    tr '\0' '\n' < "/proc/$child/environ" 2> /dev/null | grep -qx "RANK=$1" && echo "$child"
  done
}
expect_end() {  # expect_end CODE FILE
  wait "$launcher"
  local code=$?
  [ "$code" = "$1" ] || complain "exit code $code instead of $1" "$2"
}
for stop in "INT 1" "TERM 0" "USR1 1"; do
  read -r signal rank <<< "$stop"
  before=$(num_steps stopped)
  start_long stopped "$folder/stopped.$signal"
  wait_for_lines "$folder/stopped/metrics.jsonl" $((${before:-0} + 2)) learning_rate
  kill "-$signal" "$(process_of_rank "$rank")"
  expect_end 8 "$folder/stopped.$signal"
  expect_text "$folder/stopped.$signal" "run the same command to continue"
  [ "$(readlink "$folder/stopped/checkpoints/last")" = "step=$(num_steps stopped)" ] ||
    complain "the last step has no checkpoint" "$folder/stopped.$signal"
done
start_long stopped "$folder/stopped.end"
expect_end 0 "$folder/stopped.end"
train_alone straight "${long[@]}" trainer.accumulate_grad_batches=2
expect_same_metrics straight stopped
start_long late "$folder/late.out" trainer.max_steps=100000 \
  exp_manager.max_time_per_run=00:00:00:01
expect_end 8 "$folder/late.out"

# A rank that is killed is named; the others end, and the run can go on.
for rank in 1 0; do
  before=$(num_steps killed)
  start_long killed "$folder/killed.out"
  wait_for_lines "$folder/killed/metrics.jsonl" $((${before:-0} + 2)) learning_rate
  kill -KILL "$(process_of_rank $rank)"
  expect_end 137 "$folder/killed.out"
  expect_text "$folder/killed.out" "error: [comm/" "rank $rank of 2 was ended by signal 9"
done
start_long killed "$folder/killed.end"
expect_end 0 "$folder/killed.end"
expect_same_metrics straight killed

finish "train on several ranks"
