#!/bin/bash
# usage: templates_test.sh SOURCE_DIR BUILD_DIR
# Installs the build; makes an encoder, a tokenizer, a data source, a scorer, a metric, a logger and
# a model by `plugin new`, builds and checks each, and trains or validates with it by its name. Does
# the same with an optimizer and a schedule, by the commands of their guide.
set -euo pipefail
export LC_ALL=C.UTF-8
source "$(dirname "${BASH_SOURCE[0]}")/functions.sh"
source_dir=$1 build_dir=$2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
unset S2S_PLUGIN_PATH LD_LIBRARY_PATH
prefix=$scratch/prefix run=$scratch/prefix/bin/s2s-run
cmake --install "$build_dir" --prefix "$prefix" > "$scratch/install.log"
cd "$scratch"

# What third_party_test.sh and out_of_tree_test.sh make is not made again.
elsewhere=' codec llm optimizer schedule strategy '
for kind in "$source_dir"/core/sdk/template/*; do
  kind=$(basename "$kind")
  [[ $elsewhere != *" $kind "* ]] || continue
  expect "a plugin for $kind:acme.$kind" "$run" plugin new "$kind" "acme.$kind" --out "$kind"
  build "$kind"
  asked=' 8 ok'
  case $kind in data|model|scorer|tokenizer) asked=' 8 -' ;; esac
  expect "$asked" "$run" plugin check "$kind/build/libs2s_${kind}_acme_$kind.so"
  S2S_PLUGIN_PATH=${S2S_PLUGIN_PATH:+$S2S_PLUGIN_PATH:}$scratch/$kind/build
done
export S2S_PLUGIN_PATH

# The steps of the workflow that need no network.
python3 - metric/.github/workflows/plugin.yml > steps.sh <<'END'
import sys, yaml
for step in yaml.safe_load(open(sys.argv[1]))["jobs"]["plugin"]["steps"]:
    if step.get("name") in ("build", "test", "check"):
        print(step["run"])
END
rm -rf metric/build
(cd metric && PATH=$prefix/bin:$PATH PREFIX=$prefix bash -eu ../steps.sh > ../steps.log 2>&1) ||
  fail "the workflow: $(cat steps.log)"
grep -q ' 8 ok .*metric:acme.metric' steps.log || fail "the workflow: $(cat steps.log)"

train() {  # train FOLDER OVERRIDE...: ten steps
  local folder=$1
  shift
  expect "train: 10 steps" "$run" train "$prefix/share/s2s/configs/tiny.yaml" \
    "exp_manager.explicit_log_dir=$folder" "$@"
}

train scored_run trainer.val_check_interval=10 trainer.limit_val_batches=1 \
  'model.metrics={name: acme.metric}' \
  'exp_manager.loggers=[{name: acme.logger, path: logged.csv}]' \
  exp_manager.checkpoint_callback_params.monitor=val_txt_acme_metric
grep -q '"txt_acme_metric"' scored_run/metrics.jsonl || fail "the metric is in no validation"
for line in 1,train_loss, 10,learning_rate, 10,val_txt_acme_metric_dev,; do
  grep -q "^$line" logged.csv || fail "the logger did not get $line: $(head -30 logged.csv)"
done
expect 'acme_metric' "$run" validate --checkpoint scored_run
grep -q '"txt_acme_metric"' scored_run/report/predictions.jsonl || fail "no example has the metric"

train model_run model.type=acme.model '~model.llm' '~model.codec' trainer.val_check_interval=10
grep -q '"validation":"dev".*"text_accuracy"\|"text_accuracy".*"validation":"dev"' \
  model_run/metrics.jsonl || fail "the model has no metrics"
output=$("$run" generate --checkpoint model_run --input runs/tiny-data --output answers 2>&1) &&
  fail 'a model that cannot answer was asked to'
grep -q 'acme.model cannot answer recordings' <<< "$output" || fail "no refusal: $output"

train encoder_run '~model.encoder' 'model.encoder={name: acme.encoder}'

# An optimizer and a schedule, by the guide's commands as they are printed.
follow write_an_optimizer.md
followed write_an_optimizer.md " 8 ok"
followed write_an_optimizer.md "train: 10 steps"
grep -q '"step":2,.*"learning_rate":0.0005,' runs/tiny/metrics.jsonl ||
  fail "the schedule gave other rates: $(head -3 runs/tiny/metrics.jsonl)"

printf ' the\n light\n is\n now\n on\n off\n' > pieces.txt
echo 'the light is now on' > text
expect '[119,107,104,260,261,262,263]' \
  "$run" tokenizer encode pieces.txt --plugin acme.tokenizer < text
train tokenizer_run '~model.tokenizer' model.llm.vocab_size=320 \
  'model.tokenizer={name: acme.tokenizer, path: pieces.txt}'

python3 - runs/tiny-data/train.jsonl > runs/tiny-data/train.txt << 'END'
import json, sys
for line in open(sys.argv[1]):
    cut = json.loads(line)
    user, agent = cut["recording"], cut["custom"]["target_audio"]
    print("dialog", cut["id"], user["sources"][0]["source"], agent["sources"][0]["source"],
          cut["duration"], sep="\t")
    for turn in cut["supervisions"]:
        print("turn", turn["speaker"], turn["start"], turn["start"] + turn["duration"],
              turn["text"], sep="\t")
END
data='data.train_ds={name: acme.data, path: runs/tiny-data/train.txt, batch_size: 2}'
train data_run '~data.train_ds' "$data"

printf '#!/bin/sh\nwhile read -r f; do echo hi; done\n' > listen.sh
chmod +x listen.sh
expect 'transcribed by' "$run" validate --checkpoint data_run \
  'model.scoring_asr={name: acme.scorer, program: ./listen.sh}'
echo "ok: nine kinds of components: built, checked, used"
