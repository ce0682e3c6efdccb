#!/bin/bash
# usage: run_faults_test.sh S2S_RUN
# One of three ranks fails in the middle of a run: every other one ends in time with exit code 7,
# and says who is missing, at which step, in which collective. Nothing is left behind.
set -uo pipefail
s2s_run=$1
source "$(dirname "$0")/checks.sh"
timeout_s=5

# expect_fault NAME CODE: as `launch local` ends; its output is in $folder/NAME.
expect_fault() {
  local name=$1 code=$2 left
  mkdir "$folder/$name.records"
  expect_code "$code" "$folder/$name" timeout 120 "$s2s_run" launch local -n 3 --grace 8 -- \
    bench fault "$name" --rank 1 --step 3 --timeout $timeout_s \
    --record-dir "$folder/$name.records"
  left=$(pgrep -f -- "--record-dir $folder/$name.records")
  [ -z "$left" ] || complain "processes are left: $left" "$folder/$name"
  [ "$name" = none ] && return
  expect_code 0 "$folder/$name.diagnosis" "$s2s_run" launch diagnose "$folder/$name.records"
}
# expect_others NAME TEXT...: ranks 0 and 2 both end by a message with these texts.
expect_others() {
  local name=$1 text
  shift
  grep -qE '^error: \[comm/(lost|timeout|failed)\] rank 0: ' "$folder/$name" ||
    complain "rank 0 says nothing" "$folder/$name"
  grep -qE '^\[rank 2\] error: \[comm/(lost|timeout|failed)\] rank 2: ' "$folder/$name" ||
    complain "rank 2 says nothing" "$folder/$name"
  for text in "$@"; do
    [ "$(grep -cE -- "$text" "$folder/$name")" -ge 2 ] ||
      complain "'$text' is not in two ranks' messages" "$folder/$name"
  done
}
layers="all_gather 'layers.0'"

expect_fault none 0
[ -e "$folder/none.records/flight.0.json" ] && complain "a record of a good run" "$folder/none"

# What a rank that is killed cannot say is known to the others.
expect_fault kill 137
expect_others kill "error: .* $layers" "step:      3, forward" "missing:   rank 1 \(" \
  "its last report was [0-9]+ s earlier, at step [23], "
expect_text "$folder/kill" "[launch/rank-failed] rank 1 of 3 was ended by signal 9"
expect_text "$folder/kill.diagnosis" "verdict:   rank 1 (" "killed, is stopped" "2 of 3 ranks"

expect_fault stop 7
expect_others stop "did not end within $timeout_s s" "step:      3, forward" "missing:   rank 1 \("
expect_text "$folder/stop" "halted:    rank 1, by SIGSTOP" "ended with exit code 7"
expect_text "$folder/stop.diagnosis" "in all_gather 'layers.0' (3072 bytes of Float)" \
  "verdict:   rank 1 ("

expect_fault throw 5
expect_others throw "error:     rank 1 \(.* at step 3, forward.*: \[launch/injected\]"
expect_text "$folder/throw" "[launch/rank-failed] rank 1 of 3 ended with exit code 5" \
  "    error: [launch/injected] this rank was asked to fail"
expect_text "$folder/throw.diagnosis" "verdict:   rank 1 (" "[launch/injected]" "3 of 3 ranks"

expect_fault memory 1
expect_others memory "error:     rank 1 \(.* at step 3, forward"
expect_text "$folder/memory" "[run/memory]" "rank 1 of 3 ended with exit code 1"

expect_fault nan 6
expect_others nan "error:     rank 1 \(.* at step 3, update.*: \[numerics/not-finite\]"

expect_fault abort 134
expect_others abort "error:     rank 1 \(.* at step 3, forward.*: signal 6"
expect_text "$folder/abort.diagnosis" "signal 6" "3 of 3 ranks"

expect_fault exit 7
expect_others exit "missing:   rank 1 \("

expect_fault hang 7
expect_others hang "behind:    rank 1 \(.* at step 3, forward" "ranks 0, 2 wait for it"

expect_fault fewer-batches 7
expect_others fewer-batches "finished:  rank 1 \(.* ended without an error before" \
  "all_reduce 'loss'"

# Ranks that call different things: both are shown.
for fault in other-order other-size; do
  expect_fault $fault 7
  expect_text "$folder/$fault" "differs:   ranks call different collectives as number " \
    "at step 3"
done
expect_text "$folder/other-order.diagnosis" "$layers" "(ranks 0, 2)" \
  "reduce_scatter 'layers.0' (sum of 3072 bytes of Float) (rank 1)"
expect_text "$folder/other-size.diagnosis" "all_reduce 'loss' (sum of 16 bytes of Double)" \
  "all_reduce 'loss' (sum of 8192 bytes of Double) (rank 1)"

# The first step has a limit of its own.
expect_limit() {  # expect_limit NAME WORDS...: ranks 0 and 2 wait for 4 seconds
  expect_code 7 "$folder/$1" timeout 120 "$s2s_run" launch local -n 3 --grace 2 -- \
    bench fault hang --rank 1 "${@:2}" --record-dir "$folder/$1.records"
  [ "$(grep -c "did not end within 4 s" "$folder/$1")" -ge 2 ] || complain "no limit" "$folder/$1"
}
expect_limit first --step 1 --timeout 600 --first-step-timeout 4
expect_limit second --step 2 --timeout 4 --first-step-timeout 600

# Asked while it hangs, a run says where it stands and goes on.
records=$folder/asked.records
"$s2s_run" launch local -n 2 -- bench fault hang --rank 1 --timeout 60 --record-dir "$records" \
  > "$folder/asked" 2>&1 &
launcher=$!
for _ in $(seq 300); do  # until rank 0 waits at step 3
  sleep 0.2
  kill -USR2 $launcher || break
  [ -e "$records/flight.0.json" ] && [ -e "$records/flight.1.json" ] &&
    grep -q '"step": 3,' "$records/flight.0.json" && sleep 1 && break
done
kill -USR2 $launcher
sleep 1
expect_code 0 "$folder/asked.diagnosis" "$s2s_run" launch diagnose "$records"
expect_text "$folder/asked.diagnosis" "verdict:   rank 1 (" "is behind" "rank 0 waits for it" \
  "running (asked for by SIGUSR2)"
"$s2s_run" launch diagnose "$records" --json | python3 -c '
import json, sys
found = json.load(sys.stdin)
assert found["size"] == 2 and found["findings"][0]["kind"] == "behind", found
assert found["findings"][0]["ranks"] == [1] and found["ranks"][1]["phase"] == "forward", found' ||
  complain "not the expected JSON" "$folder/asked.diagnosis"
kill -0 $launcher || complain "SIGUSR2 ended the run" "$folder/asked"
kill -TERM $launcher  # the step cannot be finished
wait_for_lines "$records/flight.0.json" 1 '"reason": "asked to stop in a collective"'
kill -KILL $launcher
wait $launcher 2> /dev/null

expect_code 5 "$folder/empty" "$s2s_run" launch diagnose "$folder"
expect_text "$folder/empty" "[launch/no-records]"
mkdir "$folder/broken" && echo '{' > "$folder/broken/flight.0.json"
expect_code 5 "$folder/bad" "$s2s_run" launch diagnose "$folder/broken"
expect_text "$folder/bad" "[launch/bad-record]"
expect_code 2 "$folder/alone" "$s2s_run" bench fault kill
expect_text "$folder/alone" "launch local -n 2"

finish "faults in a run"
