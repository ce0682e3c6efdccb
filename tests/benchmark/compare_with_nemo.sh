#!/usr/bin/env bash
# Runs NVIDIA NeMo's duplex model and ours in turn, on the same model, batch and threads, and prints
# the ratios (ours / NeMo's). Needs a Python with tests/reference/requirements-nemo.txt.
#
#   PYTHON=venv/bin/python bash tests/benchmark/compare_with_nemo.sh [rounds] [threads] [precision]
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
python=${PYTHON:-python3}
rounds=${1:-2} threads=${2:-2} precision=${3:-32}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export OMP_WAIT_POLICY=PASSIVE OMP_NUM_THREADS=$threads

"$python" "$root/tests/benchmark/nemo_duplex_bench.py" --write-options "$work/options.json"
for round in $(seq "$rounds"); do
  "$python" "$root/tests/benchmark/nemo_duplex_bench.py" --steps 6 --threads "$threads" \
    --precision "$precision" 2>/dev/null | tail -1 > "$work/nemo.$round.json"
  "$root/build/bin/s2s-run" bench model --options "$work/options.json" --steps 6 \
    --threads "$threads" --precision "$precision" > "$work/ours.$round.json"
done
"$python" "$root/tests/benchmark/ratios.py" "$work" "$rounds"
