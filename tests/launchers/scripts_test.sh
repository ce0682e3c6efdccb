#!/bin/bash
# usage: scripts_test.sh S2S_RUN
# s2s-run launch slurm: what it writes and refuses. Every script passes shellcheck.
set -uo pipefail
s2s_run=$1
source "$(dirname "$0")/checks.sh"
scripts=$(cd "$(dirname "$0")/../../apps/launch" && pwd)

check_script() {  # check_script FILE...
  if type -P shellcheck > /dev/null; then
    shellcheck "$@" > "$folder/shellcheck" 2>&1 || complain "shellcheck" "$folder/shellcheck"
  else
    for one in "$@"; do bash -n "$one" || complain "bash does not read $one" "$one"; done
  fi
}
check_script "$scripts"/*.sh "$scripts/train.sbatch" \
  "$scripts/../../core/sdk/template_project/train.sbatch"

# The script of the repository is what the command in its first lines writes.
words=$(sed -n 's/^# Written by: s2s-run //p' "$scripts/train.sbatch")
eval "expect_code 0 '$folder/train.sbatch' '$s2s_run' $words"
cmp "$folder/train.sbatch" "$scripts/train.sbatch" > "$folder/differs" 2>&1 ||
  complain "apps/launch/train.sbatch is not what '$words' writes" "$folder/train.sbatch"

job=(launch slurm --nodes 2 -n 8 --dry-run)
for style in task torchrun node; do
  for kind in apptainer singularity pyxis enroot; do
    file=$folder/$style.$kind
    expect_code 0 "$file" "$s2s_run" "${job[@]}" --style $style --container "my image.sif" \
      --container-kind $kind --home /home/me:/home/me --bind '/a b:/cache' --bind /d:/data \
      --container-env HF_HOME=/cache --pwd /workspace --module cuda/12.2 --env "NOTE=it's \$HOME" \
      --partition gpu --account me --memory 500G --sbatch exclusive --sbatch=--qos=high \
      -- train my.yaml trainer.strategy.name=fsdp "note=it's \$HOME"
    check_script "$file"
    expect_text "$file" "#SBATCH --nodes=2" "#SBATCH --partition=gpu" "#SBATCH --account=me" \
      "#SBATCH --mem=500G" "#SBATCH --exclusive" "#SBATCH --qos=high" "module load cuda/12.2" \
      "unset CUDA_DEVICE_MAX_CONNECTIONS" "#SBATCH --signal=USR1@300" "'note=it'\\''s \$HOME'" \
      "unset RANK LOCAL_RANK"
  done
done
# What seed 004 shows: GPUs, the home, folders, variables and the folder of the container.
expect_text "$folder/task.apptainer" "apptainer exec --nv --home /home/me:/home/me" \
  "--bind '/a b:/cache' --bind /d:/data" "export APPTAINERENV_HF_HOME=/cache" \
  "--pwd /workspace 'my image.sif'" \
  "#SBATCH --ntasks-per-node=8" "#SBATCH --cpus-per-task=8"
expect_text "$folder/task.singularity" "singularity exec --nv" \
  "export SINGULARITYENV_HF_HOME=/cache"
expect_text "$folder/task.pyxis" "--container-image=my image.sif" \
  "--container-mounts=/a b:/cache,/d:/data" "--container-workdir=/workspace" \
  "--container-env=HF_HOME" "export HF_HOME=/cache"
expect_text "$folder/task.enroot" "enroot start --rw --mount '/a b:/cache'" "--env HF_HOME" \
  "export HF_HOME=/cache"
# All users of a machine see the arguments of its processes.
grep -l -- "--env HF_HOME=" "$folder"/task.* > "$folder/shown" &&
  complain "the container's variables are arguments" "$folder/shown"
expect_text "$folder/torchrun.apptainer" "#SBATCH --ntasks-per-node=1" \
  "#SBATCH --cpus-per-task=64" "#SBATCH --gpus-per-node=8" "--nproc-per-node 8"
expect_text "$folder/node.pyxis" "launch node --num-ranks 8 --"

# A comment with the command line stays a comment.
expect_code 0 "$folder/lines.sh" "$s2s_run" launch launcher -o - --config $'x\ntouch RAN\n'
(cd "$folder" && S2S_RUN=true bash lines.sh > /dev/null 2>&1)
[ ! -e "$folder/RAN" ] || complain "a line of a comment ran" "$folder/lines.sh"

# What the strategy asks of the environment.
expect_code 0 "$folder/tensor" "$s2s_run" "${job[@]}" -- train my.yaml \
  trainer.strategy.name=model_parallel
expect_text "$folder/tensor" "export CUDA_DEVICE_MAX_CONNECTIONS=1"
expect_code 0 "$folder/cpu" "$s2s_run" "${job[@]}" --gpus-per-node 0 --strategy fsdp -- \
  train my.yaml
grep -qE "^#SBATCH --gpus|CUDA_DEVICE" "$folder/cpu" &&
  complain "GPUs in a job of CPUs" "$folder/cpu"
expect_code 2 "$folder/one" "$s2s_run" "${job[@]}" --env CUDA_DEVICE_MAX_CONNECTIONS=1 \
  -- train my.yaml trainer.strategy.name=fsdp
expect_text "$folder/one" "[launch/environment] --env CUDA_DEVICE_MAX_CONNECTIONS=1"
expect_code 2 "$folder/old" "$s2s_run" "${job[@]}" --env NCCL_ASYNC_ERROR_HANDLING=1 -- train x.yaml
expect_text "$folder/old" "[launch/environment]" "TORCH_NCCL_ASYNC_ERROR_HANDLING=1"
expect_code 2 "$folder/rank" "$s2s_run" "${job[@]}" --env MASTER_ADDR=x -- train x.yaml
expect_text "$folder/rank" "MASTER_ADDR is set by the launcher"

# Two launchers, one inside of the other, would start the square of the ranks.
expect_code 2 "$folder/twice" "$s2s_run" "${job[@]}" -- torchrun --nproc-per-node 8 s2s-run train x
expect_text "$folder/twice" "[launch/job] the command begins with 'torchrun'"
expect_code 2 "$folder/gpus" "$s2s_run" "${job[@]}" --gpus-per-node 4 -- train x.yaml
expect_text "$folder/gpus" "[launch/job] 8 ranks and 4 GPUs"

# A file of another author is not overwritten, and what sbatch says is passed on.
cd "$folder" || exit 1
expect_code 0 "$folder/wrote" "$s2s_run" launch slurm --job-name mine -- train my.yaml
expect_text "$folder/wrote" "wrote mine.sbatch; submit it: sbatch mine.sbatch"
expect_code 0 "$folder/again" "$s2s_run" launch slurm --job-name mine -n 2 -- train my.yaml
expect_text "$folder/mine.sbatch" "--ntasks-per-node=2"
printf '#!/bin/bash\necho mine\n' > "$folder/mine.sbatch"
expect_code 2 "$folder/exists" "$s2s_run" launch slurm --job-name mine -- train my.yaml
expect_text "$folder/exists" "[launch/output] mine.sbatch exists"
mkdir "$folder/tools"
printf '#!/bin/sh\necho "sbatch: error: invalid partition" >&2\nexit 1\n' > "$folder/tools/sbatch"
chmod +x "$folder/tools/sbatch"
expect_code 1 "$folder/refused" env "PATH=$folder/tools:$PATH" "$s2s_run" launch slurm --force \
  --job-name mine --submit -- train my.yaml
expect_text "$folder/refused" "[launch/sbatch]" "invalid partition"

# N jobs in a row, each after the one before, with a seed of its own; so does NeMo's script.
cat > "$folder/tools/sbatch" << 'SBATCH'
#!/bin/bash
echo "$*" >> calls
echo $((1000 + $(wc -l < calls)))
SBATCH
for command in "$s2s_run launch slurm --force --job-name mine --submit --jobs 3 -- train my.yaml" \
  "$scripts/auto_launcher_with_seed.sh -n3 mine.sbatch"; do
  rm -f calls
  # shellcheck disable=SC2086  # words
  expect_code 0 "$folder/jobs" env "PATH=$folder/tools:$PATH" $command
  expect_text calls "--dependency=afterany:1001" "--dependency=afterany:1002"
  [ "$(grep -oE 'mine.sbatch [0-9]+$' calls | sort -u | wc -l)" = 3 ] ||
    complain "not three seeds" calls
  expect_text "$folder/jobs" "job 1003"
done

# The script for an interactive node, and run.sh with and without PROFILING.
printf '#!/bin/sh\necho srun "$@"\n' > "$folder/tools/srun"
printf '#!/bin/sh\necho torchrun "$@"\n' > "$folder/tools/torchrun"
printf '#!/bin/sh\necho nsys "$@"\n' > "$folder/tools/nsys"
chmod +x "$folder"/tools/*
expect_code 0 "$folder/interactive" env "PATH=$folder/tools:$PATH" \
  "$scripts/get_interactive_node.sh" -p debug -g 4 -t 01:00:00
expect_text "$folder/interactive" "--partition=debug" "--gpus-per-node=4" "--time=01:00:00" "--pty"
expect_code 0 "$folder/run" env "PATH=$folder/tools:$PATH" RANKS=4 "$scripts/run.sh" my.yaml a=b
expect_text "$folder/run" \
  "torchrun --no-python --standalone --nproc-per-node 4 s2s-run train my.yaml a=b"
expect_code 0 "$folder/profile" env "PATH=$folder/tools:$PATH" PROFILING=1 "$scripts/run.sh" my.yaml
expect_text "$folder/profile" "nsys profile" "torchrun --no-python"
expect_code 0 "$folder/steps" env "PATH=$folder/tools:$PATH" PROFILING=1 PROFILE_STEPS=5-10 \
  "$scripts/run.sh" my.yaml
expect_text "$folder/steps" "--capture-range=cudaProfilerApi" \
  "train my.yaml trainer.profile={begin_step: 5, end_step: 10, tool: nsys, ranks: []}"

finish "scripts for SLURM"
