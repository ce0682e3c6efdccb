#!/bin/bash
# usage: elastic_test.sh S2S_RUN TORCH_FOLDER
# Ranks that come and go: two agents of torchrun, of which one is killed and comes back, and
# s2s-run launch local --elastic. The losses are those of a run that nothing happened to.
set -uo pipefail
s2s_run=$1
source "$(dirname "$0")/checks.sh"
source "$(dirname "$0")/train_checks.sh"

often=(exp_manager.checkpoint_callback_params.every_n_train_steps=5
  trainer.val_check_interval=1000000)
num_steps() { grep -c learning_rate "$folder/$1/metrics.jsonl" 2> /dev/null || true; }
wait_for_steps() { # wait_for_steps NAME MORE: than there are
  local before
  before=$(num_steps "$1")
  wait_for_lines "$folder/$1/metrics.jsonl" $((${before:-0} + $2)) learning_rate
}
processes_of() { pgrep -f "tiny.run=$folder/$1( |$)"; }
kill_rank() { # kill_rank NAME RANK
  local child
  for child in $(processes_of "$1"); do
    tr '\0' '\n' < "/proc/$child/environ" 2> /dev/null | grep -qx "RANK=$2" &&
      [ "$(cut -d' ' -f1 < <(tr '\0' ' ' < "/proc/$child/cmdline"))" = "$s2s_run" ] &&
      kill -KILL "$child"
  done
}

# launch local --elastic: two ranks, one after a failure, two again.
words_of shrunk trainer.strategy.name=ddp trainer.max_steps=60 "${often[@]}"
"$s2s_run" launch local --elastic 1:2 --rejoin 3 --restarts 2 --grace 2 -- "${train[@]}" \
  > "$folder/shrunk.out" 2>&1 &
launcher=$!
wait_for_steps shrunk 12
kill_rank shrunk 1
wait "$launcher"
code=$?
[ $code = 0 ] || complain "exit code $code instead of 0" "$folder/shrunk.out"
expect_text "$folder/shrunk.out" "[launch/rank-failed] rank 1 of 2" \
  "launch: restart 1 of 2, with 1 ranks" "resumed from"
expect_text "$folder/shrunk/log.txt" \
  "1 of 2 elastic ranks: a step accumulates 2 micro-batches on each"
train_alone straight trainer.accumulate_grad_batches=2 trainer.max_steps=60 "${often[@]}"
expect_same_metrics straight shrunk 1e-4

expect_code 2 "$folder/both" "$s2s_run" launch local -n 2 --elastic 1:2 -- train x
expect_text "$folder/both" "--num-ranks N, or --elastic MIN:MAX"
expect_code 2 "$folder/range" "$s2s_run" launch local --elastic 2:1 -- train x
expect_text "$folder/range" "expected MIN:MAX"

# Micro-batches that cannot be divided: said, and the run goes on.
words_of uneven trainer.strategy.name=ddp trainer.max_steps=4 trainer.elastic_ranks=3
expect_code 0 "$folder/uneven.out" "$s2s_run" launch local -n 2 -- "${train[@]}"
expect_text "$folder/uneven.out" "[run/global-batch] 3 micro-batches of a step cannot be divided"

python=$(echo "$2"/../../../../bin/python3)
if ! [ -x "$python" ] || ! "$python" -W ignore -c 'import torch.distributed.run' 2> "$folder/import"
then
  echo "skipped: torchrun does not start"
  finish "launch local --elastic"
fi
port=$(free_port)
agents=()
clean_up() {
  [ ${#agents[@]} = 0 ] || kill -KILL "${agents[@]}" 2> /dev/null
  local left
  left=$(processes_of come)
  # shellcheck disable=SC2086  # process numbers
  [ -z "$left" ] || kill -KILL $left 2> /dev/null
  rm -rf "$folder"
}
trap clean_up EXIT
words_of come trainer.strategy.name=ddp trainer.max_steps=400 trainer.elastic_ranks=2 \
  trainer.communicator.timeout_s=30 "${often[@]}"
# With a shared store, agents of torch 2.11 keep its address to themselves, and one that comes back
# waits for it in vain.
export TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1
agent() { # agent NUMBER: sets agents[NUMBER]
  local alive="keep_alive_interval=2,keep_alive_max_attempt=3,last_call_timeout=5"
  "$python" -W ignore -m torch.distributed.run --no-python --nnodes 1:2 --nproc-per-node 1 \
    --max-restarts 5 --rdzv-backend c10d --rdzv-endpoint "127.0.0.1:$port" --rdzv-id come \
    --rdzv-conf "$alive,is_host=$((1 - $1))" \
    "$s2s_run" "${train[@]}" > "$folder/agent.$1.$(date +%s)" 2>&1 &
  agents[$1]=$!
}
agent 0
sleep 3
agent 1
wait_for_steps come 12
# A machine is lost with its agent and its rank.
kill -KILL "${agents[1]}"
kill_rank come 1
wait_for_lines "$folder/come/log.txt" 1 "1 of 2 elastic ranks: a step accumulates 2"
wait_for_steps come 12
# It comes back.
starts=$(grep -c "rank 0 of 2, started by torchrun" "$folder/come/log.txt")
agent 1
wait_for_lines "$folder/come/log.txt" $((starts + 1)) "rank 0 of 2, started by torchrun"
wait "${agents[0]}"
code=$?
tail -n 30 "$folder"/agent.0.* > "$folder/agent.out"
[ $code = 0 ] || complain "torchrun: exit code $code instead of 0" "$folder/agent.out"
train_alone never trainer.accumulate_grad_batches=2 trainer.max_steps=400 "${often[@]}"
expect_same_metrics never come 1e-3

finish "ranks that come and go"
