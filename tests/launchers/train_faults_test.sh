#!/bin/bash
# usage: train_faults_test.sh S2S_RUN
# Training on three ranks, one of which is killed, halted, or out of memory: the others end in time,
# name it, the step and the collective, and leave records.
set -uo pipefail
s2s_run=$1
source "$(dirname "$0")/checks.sh"
source "$(dirname "$0")/train_checks.sh"

words_of made trainer.max_steps=3
expect_code 0 "$folder/made.out" "$s2s_run" "${train[@]}"  # data and tokenizer

expect_twice() {  # expect_twice NAME PATTERN: two ranks or more say it
  [ "$(grep -cE -- "$2" "$folder/$1.out")" -ge 2 ] || complain "not twice: $2" "$folder/$1.out"
}
# train_until_hit NAME STRATEGY CODE COMMAND...: COMMAND gets the process of rank 1 in its midst.
train_until_hit() {
  local name=$1 strategy=$2 expected=$3 rank_1="" code
  shift 3
  words_of "$name" trainer.strategy.name="$strategy" trainer.max_steps=100000 \
    trainer.communicator.timeout_s=6 \
    exp_manager.checkpoint_callback_params.every_n_train_steps=100000
  "$s2s_run" launch local -n 3 --grace 8 -- "${train[@]}" > "$folder/$name.out" 2>&1 &
  launcher=$!
  wait_for_lines "$folder/$name/metrics.jsonl" 12 learning_rate
  for rank_1 in $(pgrep -P "$launcher"); do
    tr '\0' '\n' < "/proc/$rank_1/environ" | grep -qx RANK=1 && break
  done
  "$@" "$rank_1" || complain "no $1" "$folder/$name.out"
  wait "$launcher"
  code=$?
  [ "$code" = "$expected" ] || complain "exit code $code instead of $expected" "$folder/$name.out"
  [ -z "$(pgrep -f -- "tiny.run=$folder/$name ")" ] ||
    complain "processes are left" "$folder/$name.out"
  for rank in 0 2; do
    grep -qE "error: \[comm/(lost|timeout)\] rank $rank: [a-z_]+ '.*ranks 0-2; " \
      "$folder/$name.out" || complain "rank $rank names no collective" "$folder/$name.out"
  done
  expect_twice "$name" "step:      [0-9]+, (data|forward|backward|update|report)$"
  expect_code 0 "$folder/$name.diagnosis" "$s2s_run" launch diagnose "$folder/$name"
}

for strategy in ddp fsdp; do
  train_until_hit "kill-$strategy" $strategy 137 kill -KILL
  expect_twice "kill-$strategy" "missing:   .*rank 1 \(.*its last report was [0-9]+ s earlier, at "
  expect_text "$folder/kill-$strategy.out" "rank 1 of 3 was ended by signal 9"
  ! grep -q "press ^C again" "$folder/kill-$strategy.out" ||  # nobody pressed it
    complain "speaks of ^C" "$folder/kill-$strategy.out"
  expect_text "$folder/kill-$strategy.diagnosis" "verdict:   rank 1 (" "records:   2 of 3 ranks"
done

train_until_hit stop ddp 7 kill -STOP
expect_twice stop "missing:   .*rank 1 \("
expect_text "$folder/stop.out" "did not end within 6 s" "halted:    rank 1, by SIGSTOP"

if command -v prlimit > /dev/null; then
  limit() { prlimit --as=1000000 --pid "$1"; }
  train_until_hit memory ddp 1 limit
  expect_twice memory "rank 1 \(.* ended with an error at step [0-9]+, "
  expect_text "$folder/memory.out" "rank 1 of 3 ended with exit code 1"
fi

finish "faults in training"
