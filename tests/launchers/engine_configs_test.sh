#!/bin/bash
# usage: engine_configs_test.sh S2S_RUN
# s2s-run launch deepspeed, fsdp, launcher and slurm, as seed 003 types them, and
# distributed_setup.py: our trainer reads what they write, and the scripts train.
set -uo pipefail
s2s_run=$1
source "$(dirname "$0")/checks.sh"
source "$(dirname "$0")/train_checks.sh"
setup=$launchers/../../apps/launch/distributed_setup.py
export S2S_RUN=$s2s_run
cd "$folder" || exit 1

check_script() {
  if type -P shellcheck > /dev/null; then
    shellcheck "$1" > shellcheck.out 2>&1 || complain "shellcheck $1" shellcheck.out
  else
    bash -n "$1" || complain "bash does not read $1" "$1"
  fi
}

# tiny.yaml without what the files have.
sed -e '/^  precision:/d; /^  gradient_clip_val:/d; /^  strategy:/d' \
  -e 's/^  max_steps: 10/  max_steps: 4/; s/^  val_check_interval: 5/  val_check_interval: 4/' \
  "$config" > bare.yaml
cat bare.yaml - > config.yaml << 'YAML'
distributed:
  deepspeed_config: config/ds_config.json
  fsdp_config: config/fsdp_config.json
  gradient_accumulation_steps: 2
YAML

# The commands of the guide, through the script of that name.
expect_code 0 ds.out python3 "$setup" deepspeed --zero_stage 2 --offload_optimizer --bf16 \
  --output config/ds_config.json
expect_text ds.out "wrote config/ds_config.json"
expect_code 0 fsdp.out python3 "$setup" fsdp --sharding_strategy FULL_SHARD \
  --mixed_precision BFLOAT16 --output config/fsdp_config.json
expect_code 0 check.out "$s2s_run" config show config.yaml distributed.use_deepspeed=true trainer
expect_text check.out "name: fsdp" "zero_stage: 2 " "offload: optimizer" "precision: bf16-mixed" \
  "accumulate_grad_batches: 2" "# config/ds_config.json:"
expect_code 0 check.out "$s2s_run" config show config.yaml distributed.use_fsdp=true trainer
expect_text check.out "name: fsdp" "zero_stage: 3 " "param_dtype: bfloat16"

# Every combination of the generators is a file that our check accepts.
for stage in 0 1 2 3; do
  for options in --bf16 --fp16 "--offload_optimizer --gradient_clipping 0.3" \
    "--offload_param --offload_optimizer --gradient_accumulation_steps 4"; do
    # shellcheck disable=SC2086  # words
    expect_code 0 ds.out "$s2s_run" launch deepspeed --zero_stage $stage $options -o ds.json --force
    expect_code 0 check.out "$s2s_run" config check bare.yaml \
      "trainer.strategy={name: deepspeed, config: ds.json}"
    expect_text check.out "ds.json is read as" "ok"
  done
done
for sharding in FULL_SHARD SHARD_GRAD_OP NO_SHARD HYBRID_SHARD HYBRID_SHARD_ZERO2; do
  expect_code 0 fsdp.out "$s2s_run" launch fsdp --sharding-strategy $sharding --offload_params \
    --mixed-precision FLOAT16 --activation_checkpointing -o fsdp.json --force
  expect_code 0 check.out "$s2s_run" config check bare.yaml trainer.num_nodes=1 \
    "trainer.strategy={name: fsdp, config: fsdp.json}"
  expect_text check.out "fsdp.json is read as" "ok"
done
expect_code 2 both.out "$s2s_run" launch deepspeed --bf16 --fp16 -o other.json
expect_text both.out "[usage/arguments]" "--bf16 and --fp16 exclude each other"
# A second file replaces the first one, unless somebody has changed it.
expect_code 0 again.out "$s2s_run" launch deepspeed --zero_stage 1 -o ds.json
expect_text ds.json '"stage": 1'
expect_code 0 again.out "$s2s_run" launch fsdp --offload_params -o fsdp.json
expect_text fsdp.json '"fsdp_offload_params": true'
sed -i 's/"stage": 1/"stage": 1, "sub_group_size": 7/' ds.json
for command in deepspeed fsdp; do
  expect_code 2 exists.out "$s2s_run" launch $command -o ds.json
  expect_text exists.out "[launch/output] ds.json exists" "--force to overwrite it"
done
expect_code 0 again.out "$s2s_run" launch deepspeed -o ds.json --force

# The script for one machine trains two ranks.
expect_code 0 launcher.out python3 "$setup" launcher --config config.yaml --num_gpus_per_node 2 \
  --use_deepspeed
expect_text launcher.out "start it: bash scripts/run_training.sh"
check_script scripts/run_training.sh
expect_code 0 train.out bash scripts/run_training.sh tiny.run=one
expect_text train.out "rank 0 of 2, started by s2s-run launch local" "ds_config.json is read as"
expect_code 2 node.out "$s2s_run" launch launcher --config config.yaml --num_nodes 4 --node_rank 4
expect_text node.out "[usage/arguments]" "expected a number from 0 to 3"

# Two machines: the same run, started with a script for each.
port=$(free_port)
for node in 0 1; do
  expect_code 0 launcher.out "$s2s_run" launch launcher --config config.yaml --num_nodes 2 \
    --num_gpus_per_node 1 --master_addr 127.0.0.1 --master_port "$port" --node_rank $node \
    --use_deepspeed --output scripts/node$node.sh
  check_script scripts/node$node.sh
done
bash scripts/node1.sh tiny.run=two > node1.out 2>&1 &
other=$!
expect_code 0 node0.out bash scripts/node0.sh tiny.run=two
wait $other || complain "the second machine" node1.out
expect_text node0.out "rank 0 of 2"
expect_same_metrics one two 0

# SLURM as the guide types it, and with FSDP.
expect_code 0 slurm.out python3 "$setup" slurm --config config.yaml --num_nodes 4 \
  --num_gpus_per_node 8 --use_deepspeed --time_limit 48:00:00
check_script scripts/slurm_job.sh
expect_text scripts/slurm_job.sh "#SBATCH --nodes=4" "#SBATCH --ntasks-per-node=8" \
  "#SBATCH --gpus-per-node=8" "#SBATCH --time=48:00:00" \
  "train config.yaml distributed.use_deepspeed=true" "unset CUDA_DEVICE_MAX_CONNECTIONS"
expect_code 0 four.out "$s2s_run" launch slurm --config config.yaml --num_gpus_per_node 4 \
  --use_fsdp --dry-run
expect_text four.out "#SBATCH --ntasks-per-node=4" "distributed.use_fsdp=true"
expect_code 2 words.out "$s2s_run" launch slurm --config config.yaml -- train my.yaml
expect_text words.out "[usage/arguments]" "or --config FILE"
expect_code 2 none.out "$s2s_run" launch slurm
expect_text none.out "[usage/arguments]" "or --config FILE"
expect_code 2 engine.out "$s2s_run" launch slurm --use_fsdp -- train my.yaml
expect_text engine.out "go with --config FILE"
expect_code 2 setup.out python3 "$setup" deepsped
expect_text setup.out "expected one of: deepspeed, fsdp"
expect_code 2 setup.out env S2S_RUN=/nowhere/s2s-run python3 "$setup" deepspeed
expect_text setup.out "/nowhere/s2s-run: No such file or directory; set S2S_RUN"

# Seed 004: each rank gets the command line, and one of them prints what it means.
expect_code 0 args.out "$s2s_run" launch local -n 2 -- deepspeed-args --init_ckpt llama \
  --data_path a.jsonl --deepspeed_config config/ds_config.json --dry-run
[ "$(grep -c "type: causal_lm" args.out)" = 1 ] || complain "not printed once" args.out

finish "files of DeepSpeed and FSDP, and launcher scripts"
