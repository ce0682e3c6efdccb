#!/bin/bash
# usage: torchrun_test.sh S2S_RUN TORCH_FOLDER
# PyTorch's launcher, of the package that LibTorch comes from.
set -uo pipefail
s2s_run=$1
source "$(dirname "$0")/checks.sh"
source "$(dirname "$0")/train_checks.sh"

python=$(echo "$2"/../../../../bin/python3)
[ -x "$python" ] || skip "no Python beside LibTorch in $2"
"$python" -W ignore -c 'import torch.distributed.run' 2> "$folder/import" ||
  skip "torchrun does not start: $(tail -n 1 "$folder/import")"
torchrun=("$python" -m torch.distributed.run --no-python)

expect_code 0 "$folder/good" "${torchrun[@]}" --standalone --nproc-per-node 2 \
  "$s2s_run" "${bench[@]}" --json
expect_right "$folder/good" torchrun 2

# Two agents, as on two machines; without torchrun's rendezvous rank 0 keeps the store.
port=$(free_port)
for node in 0 1; do
  "${torchrun[@]}" --nnodes 2 --node-rank $node --nproc-per-node 1 --master-addr 127.0.0.1 \
    --master-port "$port" "$s2s_run" "${bench[@]}" --json > "$folder/node.$node" 2>&1 &
done
wait
expect_right "$folder/node.0" torchrun 2

# torchrun ends with 1 whatever its ranks end with. It prints our message as the cause.
expect_code 1 "$folder/fault" "${torchrun[@]}" --standalone --nproc-per-node 2 \
  "$s2s_run" bench collectives --communicator nothing
expect_text "$folder/fault" "error: [plugin/unknown]" "traceback : error: [plugin/unknown]"

# A run that stops on request says so in a file, and torchrun ends well.
words_of stopped trainer.strategy.name=ddp trainer.max_steps=100000 \
  exp_manager.max_time_per_run=00:00:00:01
expect_code 0 "$folder/stopped.out" env "S2S_STOPPED_FILE=$folder/stopped.file" \
  "${torchrun[@]}" --standalone --nproc-per-node 2 "$s2s_run" "${train[@]}"
[ -e "$folder/stopped.file" ] || complain "no file says that it stopped" "$folder/stopped.out"
expect_text "$folder/stopped/log.txt" "started by torchrun (RANK and LOCAL_RANK are set)"

# Training, with the numbers of one process.
expect_same_under trained "${torchrun[@]}" --standalone --nproc-per-node 2

finish "torchrun"
