#!/bin/bash
# usage: strangers_test.sh S2S_RUN
# A run on this machine can be reached from this machine only, and strangers there change nothing.
set -uo pipefail
s2s_run=$1
source "$(dirname "$0")/checks.sh"
source "$(dirname "$0")/train_checks.sh"
launch=("$s2s_run" launch local)

train_alone alone trainer.accumulate_grad_batches=2 trainer.max_steps=40

words_of visited trainer.strategy.name=ddp trainer.max_steps=40
"${launch[@]}" -n 2 -- "${train[@]}" > "$folder/visited.out" 2>&1 &
launcher=$!
wait_for_lines "$folder/visited/metrics.jsonl" 1 learning_rate
ranks=$(pgrep -P "$launcher")
# shellcheck disable=SC2086
python3 "$launchers/strangers.py" $ranks > "$folder/strangers" 2>&1 ||
  complain "strangers are let in" "$folder/strangers"
grep -q "Error" "$folder/strangers" && complain "the strangers failed" "$folder/strangers"
wait "$launcher"
code=$?
[ "$code" = 0 ] || complain "exit code $code" "$folder/visited.out"
expect_same_metrics alone visited

# Ranks of another run, which found the same address, are told so.
port=$(free_port)
for rank in 0 1; do
  S2S_JOB_TOKEN=run-$rank RANK=$rank WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=$port \
    timeout 60 "$s2s_run" "${bench[@]}" --start-timeout 6 > "$folder/token.$rank" 2>&1 &
  started[rank]=$!
done
for rank in 0 1; do
  wait "${started[$rank]}"
  [ $? = 7 ] || complain "not exit code 7" "$folder/token.$rank"
done
expect_text "$folder/token.0" "error: [comm/missing-rank] 1 of 2 ranks did not join"
expect_text "$folder/token.1" "error: [comm/unreachable] rank 1" "S2S_JOB_TOKEN"

finish "strangers"
