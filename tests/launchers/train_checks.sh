# For tests of training on several ranks: sourced after checks.sh. All runs train configs/tiny.yaml
# on one data set, with noise in the model, so that random numbers matter.

launchers=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
config=$launchers/../../configs/tiny.yaml

# words_of NAME WORDS...: sets `train` to the command for the run folder NAME.
words_of() {
  train=(train "$config" "tiny.data=$folder/data" "tiny.run=$folder/$1"
    model.encoder.encoder.dropout=0.1 model.history_noise.text_dropout=0.2
    trainer.limit_val_batches=3 "${@:2}")
}

# train_alone NAME WORDS...: one process, the reference of the others.
train_alone() {
  words_of "$@"
  expect_code 0 "$folder/$1.out" "$s2s_run" "${train[@]}"
}

# expect_same_metrics RUN OTHER [TOLERANCE]: every step and validation, whatever the clock says.
expect_same_metrics() {
  python3 "$launchers/compare_metrics.py" "$folder/$1" "$folder/$2" "${3:-1e-5}" \
    > "$folder/compared" 2>&1 || complain "the metrics of $2 are not those of $1" "$folder/compared"
}

# expect_same_under NAME LAUNCHER...: two ranks under it give the metrics of one process that
# accumulates two batches.
expect_same_under() {
  local name=$1
  shift
  train_alone alone trainer.accumulate_grad_batches=2
  words_of "$name" trainer.strategy.name=ddp
  expect_code 0 "$folder/$name.out" "$@" "$s2s_run" "${train[@]}"
  expect_same_metrics alone "$name"
}
