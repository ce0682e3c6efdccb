#!/bin/bash
# usage: mpirun_test.sh S2S_RUN
# Open MPI's launcher.
set -uo pipefail
s2s_run=$1
source "$(dirname "$0")/checks.sh"
source "$(dirname "$0")/train_checks.sh"

type -P mpirun > /dev/null || skip "no mpirun here (apt-get install openmpi-bin)"
mpirun=(mpirun --oversubscribe)
[ "$(id -u)" = 0 ] && mpirun+=(--allow-run-as-root)

expect_code 0 "$folder/good" "${mpirun[@]}" -n 2 "$s2s_run" "${bench[@]}" --json
expect_right "$folder/good" mpirun 2

# Several programs in one run: they have to be the same.
expect_code 7 "$folder/differ" "${mpirun[@]}" -n 1 "$s2s_run" "${bench[@]}" --repeats 3 : \
  -n 1 "$s2s_run" "${bench[@]}" --repeats 4
expect_text "$folder/differ" "[comm/ranks-differ]" "--repeats: 3 (rank 0), 4 (rank 1)"

# Training, with the numbers of one process.
expect_same_under trained "${mpirun[@]}" -n 2

finish "mpirun"
