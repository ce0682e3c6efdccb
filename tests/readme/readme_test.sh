#!/bin/bash
# usage: readme_test.sh SOURCE_DIR BUILD_DIR
# Runs the commands that README.md tells under "A first configuration of your own", word for word,
# in an empty folder that has configs/ and build/.
set -euo pipefail
source_dir=$1
build_dir=$2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
fail() { echo "FAILED: $*"; exit 1; }

commands=$(awk '/^## /{there = /A first configuration of your own/}
                there && /^```/{inside = !inside; next} there && inside' "$source_dir/README.md")
[ "$(grep -c s2s-run <<< "$commands")" -ge 4 ] || fail "README.md has no commands to run"

ln -s "$source_dir/configs" "$scratch/configs"
ln -s "$build_dir" "$scratch/build"
cd "$scratch"
bash -euo pipefail -c "$commands" > log.txt 2>&1 || { cat log.txt; fail "a command of README.md"; }
for file in runs/my/metrics.jsonl runs/my/checkpoints/last/model.safetensors \
    runs/my/report/index.html answers/answers.jsonl; do
  [ -s "$file" ] || { cat log.txt; fail "$file was not made"; }
done
echo "ok: README.md's commands"
