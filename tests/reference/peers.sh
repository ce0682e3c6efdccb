#!/usr/bin/env bash
# Makes a Python with transformers, PEFT, lhotse, TensorBoard, wandb, MLflow, jiwer, sacrebleu and
# Silero, which ours is compared with, and with pandas and nbclient, which tests/python needs, on
# the torch that core/setup.sh installed; prints its path. Doing it twice does nothing twice.
#
#   bash tests/reference/peers.sh SITE_PACKAGES_OF_TORCH
#
# Exit code 77, and why, where that cannot be: the torch of machines without CUDA cannot be
# imported, or there is no network.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
site=$1
deps=${S2S_DEPS_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/s2s}
python=$(echo "$site"/../../../bin/python3)
venv=$deps/peers-$(cat "$here/requirements-peers.txt" - <<< "$site" | sha256sum | cut -c1-12)

skip() { echo "$1" >&2; exit 77; }

[ -x "$python" ] || skip "$site is in no virtual environment of core/setup.sh"
"$python" -c 'import torch' 2>/dev/null || skip "the torch in $site cannot be imported by Python"
exec 9>"$deps/.peers.lock"
flock 9
if [ ! -f "$venv/.complete" ]; then
  rm -rf "$venv"
  "$python" -m venv "$venv"
  echo "$site" > "$(echo "$venv"/lib/python3*/site-packages)/torch.pth"
  timeout 600 "$venv/bin/pip" install -q --no-cache-dir --retries 1 --timeout 20 \
    -r "$here/requirements-peers.txt" >&2 || skip "pip could not install the peers; no network?"
  "$venv/bin/python" -c 'import transformers, peft, safetensors, lhotse, torchaudio' &&
    "$venv/bin/python" -c 'import tensorboard, wandb, mlflow, gguf' ||
    skip "the peers that were installed cannot be imported"
  touch "$venv/.complete"
fi
echo "$venv/bin/python"
