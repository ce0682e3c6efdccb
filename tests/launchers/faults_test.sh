#!/bin/bash
# usage: faults_test.sh S2S_RUN
# Starts that cannot succeed: one message, exit code 7, and no rank waits for ever.
set -uo pipefail
s2s_run=$1
source "$(dirname "$0")/checks.sh"

port=$(free_port)

started=()
start_timeout=3
# as_rank RANK SIZE FILE WORDS...: one process by hand, in the background.
as_rank() {
  local rank=$1 size=$2 file=$3
  shift 3
  RANK=$rank WORLD_SIZE=$size MASTER_ADDR=127.0.0.1 MASTER_PORT=$port \
    timeout 120 "$s2s_run" "${bench[@]}" --start-timeout "$start_timeout" "$@" > "$file" 2>&1 &
  started+=($!)
}
# expect_all CODE NAME: every process ends with it; NAME begins the names of their files.
expect_all() {
  local job file
  for job in "${started[@]}"; do
    wait "$job"
    [ $? = "$1" ] && continue
    for file in "$folder/$2"*; do complain "not exit code $1" "$file"; done
  done
  started=()
}

as_rank 0 3 "$folder/missing.0"
as_rank 2 3 "$folder/missing.2"
expect_all 7 missing
expect_text "$folder/missing.0" "error: [comm/missing-rank] 1 of 3 ranks did not join within 3 s: 1"
expect_text "$folder/missing.2" "error: [comm/missing-rank] rank 2 does not start"

start_timeout=15
as_rank 0 3 "$folder/twice.0"
as_rank 1 3 "$folder/twice.1"
as_rank 1 3 "$folder/twice.2"
expect_all 7 twice
expect_text "$folder/twice.0" "error: [comm/duplicate-rank] two processes are rank 1: "

as_rank 0 2 "$folder/differ.0" --repeats 1
as_rank 1 2 "$folder/differ.1" --repeats 2
expect_all 7 differ
expect_text "$folder/differ.0" "error: [comm/ranks-differ]" "--repeats: 1 (rank 0), 2 (rank 1)"
expect_text "$folder/differ.1" "error: [comm/ranks-differ] rank 1 does not start"

as_rank 0 2 "$folder/size.0"
as_rank 1 3 "$folder/size.1"
expect_all 7 size
expect_text "$folder/size.0" "number of ranks: 2 (rank 0), 3 (rank 1)"

start_timeout=3
as_rank 1 2 "$folder/alone"
expect_all 7 alone
expect_text "$folder/alone" \
  "error: [comm/unreachable] rank 1 could not connect to rank 0 at 127.0.0.1:$port"

python3 -c "
import socket, time
s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.bind(('127.0.0.1', $port)); s.listen(); time.sleep(60)" &
listener=$!
sleep 1
as_rank 0 2 "$folder/busy.0"
as_rank 1 2 "$folder/busy.1"
expect_all 7 busy
kill "$listener"
expect_text "$folder/busy.0" "error: [comm/port-busy] rank 0 cannot listen at 127.0.0.1:$port"
expect_text "$folder/busy.1" "error: [comm/unreachable]"

expect_code 7 "$folder/number" env RANK=2 WORLD_SIZE=2 "$s2s_run" "${bench[@]}"
expect_text "$folder/number" "error: [comm/environment] RANK=2: expected a whole number from 0 to 1"

# One message: nothing of the libraries below stands beside it.
for file in "$folder"/*; do
  [ "$(grep -c '^error: ' "$file")" = 1 ] || complain "not one message in $file" "$file"
  grep -vqE '^(error: |  )' "$file" && complain "more than the message in $file" "$file"
done

finish "faults at the start"
