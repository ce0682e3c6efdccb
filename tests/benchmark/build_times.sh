#!/usr/bin/env bash
# What building costs: clones the committed tree and times, with an empty compiler cache, the
# product, then the tests, then a second clone whose cache is full, and what a touched file builds.
# Prints a row of Markdown for each, for core/docs/internals/benchmarks.md.
#
#   bash tests/benchmark/build_times.sh FOLDER [REVISION]
#
# FOLDER must not exist; it takes about 4 GB and may be deleted afterwards. Packages and LibTorch
# are installed before the clock starts (core/setup.sh --no-build). Run nothing else beside it.
set -euo pipefail

source_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
folder=${1:?usage: build_times.sh FOLDER [REVISION]}
revision=${2:-HEAD}
[ ! -e "$folder" ] || { echo "error: $folder exists; name a new folder" >&2; exit 2; }
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
export CCACHE_DIR=$folder/ccache

clone() {  # clone NAME
  git clone -q "$source_dir" "$folder/$1"
  git -C "$folder/$1" checkout -q "$revision"
}

# row TEXT COMMAND...: minutes by the clock.
row() {
  local text=$1 before after
  shift
  before=$(date +%s)
  "$@" > "$folder/last.log" 2>&1 || { tail -20 "$folder/last.log" >&2; exit 1; }
  after=$(date +%s)
  printf '| %s | %d:%02d |\n' "$text" $(((after - before) / 60)) $(((after - before) % 60))
}

# touched FILE: s2s-run and its plugins are built after FILE got another time.
touched() {
  touch "$folder/one/$1"
  CCACHE_DISABLE=1 ninja -C "$folder/one/build" product > "$folder/touched.log" || return
  echo "$1: $(grep -c 'Building CXX' "$folder/touched.log") compilations" >> "$folder/steps.txt"
}

clone one
bash "$folder/one/core/setup.sh" --no-build > "$folder/last.log" 2>&1
echo "processor: $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1), $(nproc) cores"
echo "| step | minutes |"
echo "| --- | --- |"
row "\`bash core/setup.sh\`: the product" bash "$folder/one/core/setup.sh"
row "then \`bash core/setup.sh --tests\`" bash "$folder/one/core/setup.sh" --tests
clone two
row "both in another folder, the cache filled" bash "$folder/two/core/setup.sh" --tests
for file in training/train/trainer.cc model/engine/engine.cc model/nn/kernels/affine.cc \
  data/streams/input_tree.cc model/weights/safetensors.cc include/s2s/kinds/codec.h; do
  row "\`core/$file\` touched, then s2s-run and its plugins" touched "core/$file"
done
cat "$folder/steps.txt"
