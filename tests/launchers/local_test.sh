#!/bin/bash
# usage: local_test.sh S2S_RUN
# s2s-run launch local: starts, reports, stops, starts again.
set -uo pipefail
s2s_run=$1
source "$(dirname "$0")/checks.sh"

expect_code 0 "$folder/good" "$s2s_run" launch local -n 3 -- "${bench[@]}" --json
expect_right "$folder/good" "s2s-run launch local" 3

# A mistake that all ranks make is shown once, and nothing beside it.
expect_once() {  # expect_once FILE TEXT
  expect_text "$1" "$2"
  [ "$(grep -c 'error: ' "$1")" = 1 ] || complain "not one message" "$1"
  grep -qF '[rank' "$1" && complain "ranks stand before it" "$1"
}
expect_code 2 "$folder/usage" "$s2s_run" launch local -n 3 -- bench model --no
expect_once "$folder/usage" "error: [usage/arguments] s2s-run bench model:"
expect_text "$folder/usage" "  see:       s2s-run bench model --help"
expect_code 3 "$folder/config" "$s2s_run" launch local -n 2 -- train "$folder/no.yaml"
expect_once "$folder/config" "error: [config/"
expect_code 4 "$folder/plugin" "$s2s_run" launch local -n 2 -- "${bench[@]}" --communicator none
expect_once "$folder/plugin" "error: [plugin/unknown]"

# Others' own messages stand behind their ranks, equal ones behind all of them, or in files.
fault=(bench fault throw --step 1 --timeout 5)
expect_code 5 "$folder/own" "$s2s_run" launch local -n 3 --grace 8 -- "${fault[@]}" --rank 2
expect_text "$folder/own" "[rank 2] error: [launch/injected]" "error: [launch/rank-failed] rank 2" \
  "    error: [launch/injected]"
expect_code 2 "$folder/logs" "$s2s_run" launch local -n 2 --log-dir "$folder/log" -- \
  bench nothing
expect_text "$folder/log/rank_1.log" "error: [usage/command]"
grep -q '^\[rank 1\]' "$folder/logs" && complain "rank 1 prints beside its log" "$folder/logs"
expect_code 2 "$folder/none" "$s2s_run" launch local -n 2
expect_text "$folder/none" "[usage/arguments] s2s-run launch local: command is required"
expect_code 2 "$folder/mark" "$s2s_run" launch local -n 2 bench collectives --size 4K
expect_text "$folder/mark" "The following argument was not expected: --size"
expect_code 2 "$folder/zero" "$s2s_run" launch local -n 0 -- train x
expect_code 2 "$folder/nested" "$s2s_run" launch local -n 2 -- launch local -n 2 -- train x

# A run without an end; `launcher` and the processes of its ranks.
long=(bench collectives --size 64M --repeats 1000000 --timeout 8)
start_long() {  # start_long FILE WORDS...
  local file=$1
  shift
  "$s2s_run" launch local -n 2 "$@" -- "${long[@]}" > "$file" 2>&1 &
  launcher=$!
}
child_of_rank() {  # the newest attempt's process
  local child
  for child in $(pgrep -P "$launcher"); do
    tr '\0' '\n' < "/proc/$child/environ" 2> /dev/null | grep -qx "RANK=$1" && echo "$child"
  done
}
wait_for_ranks() {
  for _ in $(seq 300); do
    [ -n "$(child_of_rank 0)" ] && [ -n "$(child_of_rank 1)" ] && sleep 1 && return
    sleep 0.1
  done
  echo "FAILED: the ranks did not start"
  failed=1
}
expect_end() {  # expect_end CODE FILE
  local code
  wait "$launcher"
  code=$?
  [ "$code" = "$1" ] || complain "exit code $code instead of $1" "$2"
}

# Nor is a mistake shown twice where a rank starts seconds after the others.
"$s2s_run" launch local -n 3 -- bench model --no > "$folder/late" 2>&1 &
launcher=$!
for _ in $(seq 100); do
  late=$(child_of_rank 1)
  [ -n "$late" ] && kill -STOP "$late" 2> /dev/null && break
  sleep 0.02
done
sleep 3
kill -CONT "$late"
expect_end 2 "$folder/late"
expect_once "$folder/late" "error: [usage/arguments] s2s-run bench model:"

# A rank that is killed ends the run with its number, and nothing is left.
start_long "$folder/killed" --grace 2
wait_for_ranks
other=$(child_of_rank 0)
kill -KILL "$(child_of_rank 1)"
expect_end 137 "$folder/killed"
expect_text "$folder/killed" "[launch/rank-failed] rank 1 of 2 was ended by signal 9"
kill -0 "$other" 2> /dev/null && complain "rank 0 still runs" "$folder/killed"

# One that is halted is missed by the other after the timeout, and then ended, too.
start_long "$folder/halted" --grace 2
wait_for_ranks
other=$(child_of_rank 1)
kill -STOP "$other"
expect_end 7 "$folder/halted"
expect_text "$folder/halted" "[comm/" "rank 0 of 2 ended with exit code 7"
kill -0 "$other" 2> /dev/null && complain "rank 1 still runs" "$folder/halted"

# A request to stop reaches all ranks.
start_long "$folder/stopped"
wait_for_ranks
kill -TERM "$launcher"
expect_end 143 "$folder/stopped"

# A launcher that is killed takes its ranks with it.
start_long "$folder/gone"
wait_for_ranks
ranks=$(pgrep -P "$launcher")
kill -KILL "$launcher"
wait "$launcher" 2> /dev/null
sleep 1
for rank in $ranks; do
  [ -d "/proc/$rank" ] && ! grep -q '^State:.Z' "/proc/$rank/status" &&
    complain "rank process $rank outlives its launcher" "$folder/gone"
done

# A failure may be followed by another start; a mistake of the user is not.
start_long "$folder/again" --restarts 1 --grace 2
wait_for_ranks
kill -KILL "$(child_of_rank 0)"
wait_for_lines "$folder/again" 1 "launch: restart 1 of 1"
wait_for_ranks
kill -KILL "$(child_of_rank 0)"
expect_end 137 "$folder/again"
expect_code 2 "$folder/mistake" "$s2s_run" launch local -n 2 --restarts 3 -- bench nothing
grep -q "launch: restart" "$folder/mistake" && complain "started again" "$folder/mistake"

finish "launch local"
