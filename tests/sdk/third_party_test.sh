#!/bin/bash
# usage: third_party_test.sh SOURCE_DIR BUILD_DIR
# Installs the build and lives from the prefix alone: makes plugins by `plugin new`, builds a
# stranger's (a sliding-window decoder), and trains, resumes, lists and inspects with them. As root,
# the source and build trees are hidden meanwhile.
set -euo pipefail
export LC_ALL=C.UTF-8

source "$(dirname "${BASH_SOURCE[0]}")/functions.sh"

losses() {  # losses RUN: step and loss of each line, without times
  grep -o '"step": *[0-9]*\|"loss": *[-0-9.e]*' "$1/metrics.jsonl"
}

inside() {
  cd "$scratch"
  [ ! -e "$source_dir/core" ] || echo "note: the source tree is in sight (not root)"

  # The guides' commands, as they are printed: a family of one's own; a strategy, whose test
  # compares four processes with one, with that family; a codec that trains and is heard.
  follow write_a_backbone.md
  followed write_a_backbone.md " 8 ok"
  followed write_a_backbone.md "train: 10 steps"
  followed write_a_backbone.md "tensor: 10 steps"
  follow write_a_codec.md
  followed write_a_codec.md " 8 ok"
  followed write_a_codec.md "train: 10 steps"

  # One from nothing but the interface: two ranks save together, and one process goes on.
  build acme_plain
  local plain=(train fresh/tiny.yaml model.llm.name=llama exp_manager.explicit_log_dir=plain
    exp_manager.checkpoint_callback_params.every_n_train_steps=2)
  S2S_PLUGIN_PATH=acme_plain/build expect "train: 4 steps" "$run" launch local -n 2 -- \
    "${plain[@]}" trainer.max_steps=4 trainer.strategy.name=acme.plain
  expect "ok; read" "$run" checkpoint verify plain/checkpoints/last
  expect "resumed from" "$run" "${plain[@]}" trainer.max_steps=6

  # A neural codec from s2s's layers, in one file.
  build acme_codec
  [ "$(wc -l < acme_codec/codec.cc)" -le 150 ] || fail "acme_codec has more than 150 lines"
  expect " 8 ok" "$run" plugin check acme_codec/build/libs2s_codec_acme_codec.so
  S2S_PLUGIN_PATH=acme_codec/build expect "train: 2 steps" "$run" train \
    "$prefix/share/s2s/configs/tiny.yaml" tiny.data=fresh/runs/tiny-data \
    exp_manager.explicit_log_dir=neural trainer.max_steps=2 model.lr_scheduler.max_steps=6 \
    "model.codec={name: acme.codec}"

  # An encoder from s2s's layers, in one file.
  build acme_encoder
  expect " 8 ok" "$run" plugin check acme_encoder/build/libs2s_encoder_acme_encoder.so
  S2S_PLUGIN_PATH=acme_encoder/build expect "train: 2 steps" "$run" train \
    "$prefix/share/s2s/configs/tiny.yaml" tiny.data=fresh/runs/tiny-data \
    exp_manager.explicit_log_dir=heard trainer.max_steps=2 model.lr_scheduler.max_steps=6 \
    '~model.encoder' "model.encoder={name: acme.encoder, width: 32}"

  build acme_mistral
  expect " 8 ok" "$run" plugin check acme_mistral/build/libs2s_llm_acme_mistral.so
  export S2S_PLUGIN_PATH=$scratch/acme_mistral/build:$scratch/bands/build
  expect "acme.mistral" "$run" plugin list --kind llm
  expect "acme.bands" "$run" plugin list --kind codec
  expect "sliding_window" "$run" plugin inspect acme.mistral
  expect "num_bands" "$run" plugin inspect acme.bands
  # Its prompt format, with a language model of another family.
  expect "train: 1 step" "$run" train "$prefix/share/s2s/configs/salm.yaml" '~data.synth' \
    salm.data=fresh/runs/tiny-data exp_manager.explicit_log_dir=asked trainer.max_steps=1 \
    model.lr_scheduler.max_steps=40 model.prompt_format=acme.mistral

  # Both by name in a config; a run that was cut goes on as if it had not been.
  local train=("$run" train "$prefix/share/s2s/configs/tiny.yaml" "tiny.data=fresh/runs/tiny-data"
    model.llm.name=acme.mistral model.llm.sliding_window=6
    "model.codec={name: acme.bands, sample_rate: 16000}"
    model.lr_scheduler.max_steps=6 exp_manager.resume_if_exists=true
    exp_manager.checkpoint_callback_params.every_n_train_steps=3)
  expect "train: 6 steps" "${train[@]}" exp_manager.explicit_log_dir=whole trainer.max_steps=6
  expect "train: 3 steps" "${train[@]}" exp_manager.explicit_log_dir=cut trainer.max_steps=3
  expect "resumed from" "${train[@]}" exp_manager.explicit_log_dir=cut trainer.max_steps=6
  [ "$(losses whole)" = "$(losses cut)" ] || fail "the resumed run differs: $(losses cut)"
  grep -q '"acme_mistral"' whole/manifest.json || fail "the manifest does not name acme_mistral"

  # Without the plugin, the message names what is missing and where was searched.
  local output
  if output=$(S2S_PLUGIN_PATH='' "${train[@]}" exp_manager.explicit_log_dir=none 2>&1); then
    fail "acme.mistral was found without its folder"
  fi
  grep -qF "[plugin/unknown]" <<< "$output" || fail "$output"
  echo "ok: strangers' family, strategies, decoder, codec: built, checked, trained, resumed"
}

if [ "$1" = --inside ]; then
  source_dir=$2 build_dir=$3 scratch=$4
  prefix=$scratch/prefix run=$prefix/bin/s2s-run
  if [ "${5:-}" = hide ]; then
    mount -t tmpfs tmpfs "$build_dir"
    mount -t tmpfs tmpfs "$source_dir"
  fi
  inside
  exit
fi

source_dir=$1 build_dir=$2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
unset S2S_PLUGIN_PATH LD_LIBRARY_PATH
cmake --install "$build_dir" --prefix "$scratch/prefix" > "$scratch/install.log"
cp -r "$source_dir"/tests/sdk/{acme_*,functions.sh} "${BASH_SOURCE[0]}" "$scratch"
again=(bash "$scratch/$(basename "${BASH_SOURCE[0]}")" --inside)
again+=("$source_dir" "$build_dir" "$scratch")
if [ "$(id -u)" = 0 ] && unshare --mount true 2> /dev/null; then
  cd "$scratch" && unshare --mount "${again[@]}" hide
else
  "${again[@]}"
fi
