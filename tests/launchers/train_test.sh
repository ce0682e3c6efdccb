#!/bin/bash
# usage: train_test.sh S2S_RUN SOURCE_FOLDER
# Training on several ranks begins with the same configuration on each, or not at all.
set -uo pipefail
s2s_run=$1
source "$(dirname "$0")/checks.sh"
config=$2/configs/tiny.yaml
run=(train "$config" "exp_manager.explicit_log_dir=$folder/run")

# The strategy of this configuration is one process on one device.
expect_code 7 "$folder/mesh" "$s2s_run" launch local -n 2 -- "${run[@]}"
expect_text "$folder/mesh" "error: [comm/mesh] the mesh has 1 rank" "2 were started"

port=$(free_port)
export MASTER_ADDR=127.0.0.1 MASTER_PORT=$port WORLD_SIZE=2
RANK=1 timeout 120 "$s2s_run" "${run[@]}" trainer.seed=5 > "$folder/other" 2>&1 &
expect_code 7 "$folder/seed" env RANK=0 timeout 120 "$s2s_run" "${run[@]}" trainer.seed=4
wait
expect_text "$folder/seed" "[comm/ranks-differ]" "trainer.seed: 4 (rank 0), 5 (rank 1)"

[ -e "$folder/run" ] && complain "something was written before the ranks agreed" "$folder/seed"
finish "train on several ranks"
