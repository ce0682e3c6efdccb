#!/bin/bash
# usage: signals_test.sh S2S_RUN NO_FLOCK
# What the world does to a run: terminals that close, readers that go away, descriptors that are not
# there, file systems without locks.
set -uo pipefail
s2s_run=$1
no_flock=$2
source "$(dirname "$0")/checks.sh"
source "$(dirname "$0")/train_checks.sh"
launch=("$s2s_run" launch local)
endless=(trainer.max_steps=100000
  exp_manager.checkpoint_callback_params.every_n_train_steps=100000)

words_of made trainer.max_steps=3
expect_code 0 "$folder/made.out" "$s2s_run" "${train[@]}"  # data and tokenizer

has_steps() { wait_for_lines "$folder/$1/metrics.jsonl" "${2:-3}" learning_rate; }
# expect_end CODE PROCESS FILE
expect_end() {
  wait "$2"
  local code=$?
  [ "$code" = "$1" ] || complain "exit code $code instead of $1" "$3"
}

# A terminal that closes: the run ends with a checkpoint, alone and behind a launcher.
words_of hup "${endless[@]}"
"$s2s_run" "${train[@]}" > "$folder/hup.out" 2>&1 &
run=$!
has_steps hup
kill -HUP "$run"
kill -HUP "$run"
expect_end 8 "$run" "$folder/hup.out"
[ -e "$folder/hup/checkpoints/last/state.json" ] || complain "no checkpoint" "$folder/hup.out"

# A batch system's warning while libraries are loaded is held back until the run can save.
is_held() { grep -q '^SigBlk:.*201$' "/proc/$1/status"; }
for early in "USR1 0" "USR1 0.05" "HUP 0" "HUP 0.02"; do
  read -r signal pause <<< "$early"
  words_of "early-$signal-$pause" "${endless[@]}"
  "$s2s_run" "${train[@]}" > "$folder/early.out" 2>&1 &
  run=$!
  until is_held "$run" || ! kill -0 "$run"; do :; done 2> /dev/null
  sleep "$pause"
  kill "-$signal" "$run"
  expect_end 8 "$run" "$folder/early.out"
done

words_of hups "${endless[@]}" trainer.strategy.name=ddp
"${launch[@]}" -n 2 -- "${train[@]}" > "$folder/hups.out" 2>&1 &
run=$!
has_steps hups
kill -HUP "$run"
expect_end 8 "$run" "$folder/hups.out"
[ -e "$folder/hups/checkpoints/last/state.json" ] || complain "no checkpoint" "$folder/hups.out"

# nohup means it, alone and behind a launcher.
for launcher in "" "launch local -n 1 --"; do
  name=nohup${launcher:+s}
  words_of "$name" trainer.max_steps=12
  # shellcheck disable=SC2086
  nohup "$s2s_run" $launcher "${train[@]}" > "$folder/$name.out" 2>&1 &
  run=$!
  has_steps "$name" 1
  kill -HUP "$run"
  expect_end 0 "$run" "$folder/$name.out"
done

# A reader that goes away ends the output, not the run; the log has everything.
words_of pipe trainer.max_steps=12 trainer.log_every_n_steps=1
"$s2s_run" "${train[@]}" 2>&1 | head -c 1 > "$folder/pipe.out"
[ "${PIPESTATUS[0]}" = 0 ] || complain "the run ended with its reader" "$folder/pipe.out"
expect_text "$folder/pipe/log.txt" "step 12 " "12 optimizer steps done"
words_of pipes trainer.max_steps=12 trainer.strategy.name=ddp
"${launch[@]}" -n 2 -- "${train[@]}" 2>&1 | head -c 1 > "$folder/pipes.out"
[ "${PIPESTATUS[0]}" = 0 ] || complain "the ranks ended with their reader" "$folder/pipes.out"
expect_text "$folder/pipes/log.txt" "12 optimizer steps done"
# Other commands end with their reader, without a word.
config_lines() { "$s2s_run" plugin list --json 2> "$folder/quiet.err"; }
config_lines | head -c 1 > /dev/null
[ -s "$folder/quiet.err" ] && complain "words about a reader that went away" "$folder/quiet.err"

# Started without standard descriptors, none of the run's files becomes one.
words_of closed "${endless[@]}"
"$s2s_run" "${train[@]}" <&- >&- 2>&- &
run=$!
has_steps closed
for descriptor in 0 1 2; do
  readlink "/proc/$run/fd/$descriptor"
done > "$folder/closed.out"
kill -TERM "$run"
expect_end 8 "$run" "$folder/closed.out"
[ "$(grep -cx /dev/null "$folder/closed.out")" = 3 ] ||
  complain "standard descriptors are other files" "$folder/closed.out"

# Where the file system gives no locks, a second run is refused all the same, and one that was
# killed is known to be dead.
words_of unlocked "${endless[@]}"
LD_PRELOAD=$no_flock "$s2s_run" "${train[@]}" > "$folder/unlocked.out" 2>&1 &
run=$!
has_steps unlocked
expect_text "$folder/unlocked.out" "[run/no-lock]" "No locks available"
words_of unlocked trainer.max_steps=3
export LD_PRELOAD=$no_flock
expect_code 5 "$folder/second.out" "$s2s_run" "${train[@]}"
expect_text "$folder/second.out" "error: [run/in-use] another run is using $folder/unlocked" \
  "(process $run on $(hostname))"
kill -KILL "$run"
wait "$run" 2> /dev/null
expect_code 0 "$folder/third.out" timeout 60 "$s2s_run" "${train[@]}"
unset LD_PRELOAD
[ -e "$folder/unlocked/.owner" ] && complain "the owner file is left" "$folder/third.out"

finish "signals, descriptors and locks"
