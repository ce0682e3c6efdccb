#!/bin/bash
# usage: folder_test.sh S2S_RUN
# Who may write into a run's folder, and what is said when that is not possible.
set -uo pipefail
s2s_run=$1
source "$(dirname "$0")/checks.sh"
source "$(dirname "$0")/train_checks.sh"
launch=("$s2s_run" launch local)
strategy=trainer.strategy.name=fsdp

# A second run in the folder of one that lives ends before it reads or writes anything there.
mkdir "$folder/busy"
exec 9> "$folder/busy/.lock"
flock -n 9 || complain "the lock is held" /dev/null
echo "process 17 on node1" > "$folder/busy/.lock"
words_of busy "$strategy"
expect_code 5 "$folder/second" "${launch[@]}" -n 2 -- "${train[@]}"
expect_text "$folder/second" "error: [run/in-use] another run is using $folder/busy" \
  "(process 17 on node1)" "set another exp_manager.explicit_log_dir"
[ -e "$folder/busy/metrics.jsonl" ] && complain "the second run has written" "$folder/second"
exec 9>&-

# It is given back, however the run before has ended.
words_of busy "$strategy" trainer.max_steps=3
expect_code 0 "$folder/third" "${launch[@]}" -n 2 -- "${train[@]}"

# A limit on the size of files is an error of the rank that meets it, and all end.
words_of limited "$strategy" trainer.max_steps=3
(ulimit -f 1000; expect_code 5 "$folder/limited.out" "${launch[@]}" -n 2 -- "${train[@]}"
  exit $failed) || failed=1
expect_text "$folder/limited.out" "[checkpoint/write]" "File too large"

# What does not share its work does not do it twice.
expect_code 7 "$folder/twice" "${launch[@]}" -n 2 -- generate "$config" \
  --checkpoint "$folder/busy/checkpoints/last" --input a.wav --output "$folder/answers"
expect_text "$folder/twice" "[comm/one-process] 'generate' runs in one process, but 2 were started"

# A strategy as Lightning writes it trains, and says how it was read.
words_of foreign '~trainer.strategy.name' trainer.max_steps=3 \
  trainer.strategy._target_=lightning.pytorch.strategies.ModelParallelStrategy \
  trainer.strategy.tensor_parallel_size=2
expect_code 0 "$folder/foreign.out" "${launch[@]}" -n 2 -- "${train[@]}"
expect_text "$folder/foreign.out" "is read as name: model_parallel"

finish "folders and words of neighbors"
