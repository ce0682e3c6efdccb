#!/bin/bash
# usage: checkpoint_test.sh S2S_RUN
# Checkpoints that ranks write together: a run goes on under other layouts, every command reads
# them, and what is damaged is named.
set -uo pipefail
s2s_run=$1
source "$(dirname "$0")/checks.sh"
source "$(dirname "$0")/train_checks.sh"
launch=("$s2s_run" launch local)
checkpoints=$folder/relay/checkpoints

leg() {  # leg STEPS WORDS...: the run up to so many steps
  words_of relay model.lr_scheduler.max_steps=12 trainer.max_steps="$1" \
    exp_manager.checkpoint_callback_params.every_n_train_steps=2 \
    exp_manager.checkpoint_callback_params.async_save=true "${@:2}"
}
leg 4 trainer.strategy.name=fsdp trainer.accumulate_grad_batches=2
expect_code 0 "$folder/leg1" "${launch[@]}" -n 2 -- "${train[@]}"
for file in model-00000-of-00002 model-00001-of-00002 optimizer-00001-of-00002; do
  [ -e "$checkpoints/step=4/$file.safetensors" ] || complain "no $file" "$folder/leg1"
done
expect_code 0 "$folder/inspect" "$s2s_run" checkpoint inspect "$checkpoints/last"
expect_text "$folder/inspect" "2 ranks" "llm.norm.weight"
leg 8 trainer.strategy.name=model_parallel trainer.strategy.tensor_parallel_size=2 \
  trainer.accumulate_grad_batches=2
expect_code 0 "$folder/leg2" "${launch[@]}" -n 4 -- "${train[@]}"
expect_text "$folder/leg2" "resumed from $checkpoints/step=4 at step 4"
expect_code 0 "$folder/verify" "$s2s_run" checkpoint verify "$checkpoints/last"
expect_text "$folder/verify" "ok"
cp -r "$checkpoints/step=8" "$folder/sharded"
leg 12 trainer.accumulate_grad_batches=4
expect_code 0 "$folder/leg3" "$s2s_run" "${train[@]}"
expect_text "$folder/leg3" "resumed from $checkpoints/step=8 at step 8"
train_alone straight model.lr_scheduler.max_steps=12 trainer.max_steps=12 \
  trainer.accumulate_grad_batches=4
expect_same_metrics straight relay 1e-4  # sums in another order

# One process reads what four ranks wrote.
wav=$(find "$folder/data/audio/dev" -name '*_user.wav' | sort | head -1)
words=("$config" "tiny.data=$folder/data" "tiny.run=$folder/other" --checkpoint "$folder/sharded")
expect_code 0 "$folder/generate" "$s2s_run" generate "${words[@]}" --input "$wav" \
  --output "$folder/answers"
expect_code 0 "$folder/validate" "$s2s_run" validate "${words[@]}" --limit-batches 1
expect_code 0 "$folder/export" "$s2s_run" checkpoint export "$folder/sharded" "$folder/exported"
expect_code 0 "$folder/exported.verify" "$s2s_run" checkpoint verify "$folder/exported"

# A flipped byte and a file that is gone.
shard=$folder/sharded/model-00002-of-00004.safetensors
python3 - "$shard" << 'PYTHON'
import sys
with open(sys.argv[1], "r+b") as file:
    file.seek(-5, 2)
    byte = file.read(1)[0]
    file.seek(-5, 2)
    file.write(bytes([byte ^ 1]))
PYTHON
expect_code 1 "$folder/flipped" "$s2s_run" checkpoint verify "$folder/sharded"
expect_text "$folder/flipped" "1 finding;" "$shard has changed since it was written"
expect_code 5 "$folder/refused" "$s2s_run" generate "${words[@]}" --input "$wav" \
  --output "$folder/answers"
expect_text "$folder/refused" "error: [checkpoint/damaged] $shard"
rm "$shard"
expect_code 5 "$folder/refused" "$s2s_run" generate "${words[@]}" --input "$wav" \
  --output "$folder/answers"
expect_text "$folder/refused" "error: [checkpoint/incomplete]" "model-00002-of-00004.safetensors"

finish "checkpoints of several ranks"
