#!/bin/bash
# usage: slurm_test.sh S2S_RUN
# srun on two nodes of a cluster that slurm_cluster.sh makes here.
set -uo pipefail
s2s_run=$1
if [ "${2:-}" != inside ]; then
  exec bash "$(dirname "$0")/slurm_cluster.sh" bash "$0" "$s2s_run" inside
fi
source "$(dirname "$0")/checks.sh"
source "$(dirname "$0")/train_checks.sh"

expect_code 0 "$folder/good" srun -N 2 -n 4 "$s2s_run" "${bench[@]}" --json
expect_right "$folder/good" srun 4

expect_code 7 "$folder/differ" srun -N 2 -n 2 bash -c \
  "'$s2s_run' ${bench[*]} --repeats \$((SLURM_PROCID + 3))"
expect_text "$folder/differ" "[comm/ranks-differ]" "--repeats: 3 (rank 0), 4 (rank 1)"

# A batch script is one process; what it starts with srun is a run.
cat > "$folder/job.sh" << JOB
#!/bin/bash
"$s2s_run" ${bench[*]} --json > "$folder/script"
srun "$s2s_run" ${bench[*]} --json > "$folder/step"
JOB
echo "echo the job has ended" >> "$folder/job.sh"
expect_code 0 "$folder/batch" sbatch -N 2 -n 2 --output "$folder/job.log" "$folder/job.sh"
wait_for_lines "$folder/job.log" 1 "the job has ended"
expect_right "$folder/script" none 1
expect_right "$folder/step" srun 2

# Training, with the numbers of one process.
expect_same_under trained srun -N 2 -n 2

finish "srun"
