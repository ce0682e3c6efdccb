#!/usr/bin/env bash
# Runs NVIDIA NeMo's duplex model and ours in turn, on the same model, batch and threads, and prints
# the ratios (ours / NeMo's). Needs a built tree and a Python with
# tests/reference/requirements-nemo.txt.
#
#   PYTHON=venv/bin/python bash tests/benchmark/compare_with_nemo.sh [options]
#   PYTHON=venv/bin/python bash tests/benchmark/compare_with_nemo.sh losses NEMO [--batch FILE]
#
# `losses`: one training step of any class of speechlm2 instead, given its YAML or its folder for
# the hub; prints the differences of losses and gradients (tests/reference/nemo_compare.py).
#
#   --rounds N          pairs of runs (default 3)
#   --threads N         threads of both (default 1)
#   --precision P       32 or bf16-mixed (default 32)
#   --steps N           timed steps of each run (default 6)
#   --processor-time    compare what the main threads computed instead of the time that passed; for
#                       one thread on a machine with other work
#   --keep DIR          leave each run's figures (JSON) there
set -euo pipefail

usage() { sed -n '2,20p' "${BASH_SOURCE[0]}" | sed 's/^# \{0,1\}//'; }
fail() { printf 'error: [benchmark/%s] %s\n' "$1" "$2" >&2; exit 2; }

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
python=${PYTHON:-python3}
rounds=3 threads=1 precision=32 steps=6 keep='' clock=()
what=ratios
[ "${1:-}" != losses ] || { what=losses; shift; }
while [ "$what" = ratios ] && [ $# -gt 0 ]; do
  case $1 in
    --rounds | --threads | --precision | --steps | --keep)
      [ -n "${2:-}" ] || fail usage "$1 needs a value"
      printf -v "${1#--}" '%s' "$2"
      shift ;;
    --processor-time) clock=(--processor-time) ;;
    -h | --help) usage; exit 0 ;;
    *) fail usage "unknown argument '$1'; see --help" ;;
  esac
  shift
done
[ -x "$root/build/bin/s2s-run" ] || fail build "no build/bin/s2s-run; run bash core/setup.sh first"
"$python" -c 'import nemo, torch' 2> /dev/null ||
  fail peer "$python cannot import nemo; set PYTHON (see tests/reference/README.md)"

if [ "$what" = losses ]; then
  exec "$python" "$root/tests/reference/nemo_compare.py" "$root/build/bin/s2s-run" "$@"
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export OMP_NUM_THREADS=$threads

common=(--steps "$steps" --threads "$threads" --precision "$precision" "${clock[@]}")
bench=$root/tests/benchmark/nemo_duplex_bench.py
"$python" "$bench" --write-options "$work/options.json"
for round in $(seq "$rounds"); do
  "$python" "$bench" "${common[@]}" 2> "$work/nemo.err" | tail -1 > "$work/nemo.$round.json" ||
    { tail -5 "$work/nemo.err" >&2; fail peer "NeMo's run failed"; }
  "$root/build/bin/s2s-run" bench model --options "$work/options.json" "${common[@]}" \
    > "$work/ours.$round.json"
done
if [ -n "$keep" ]; then mkdir -p "$keep" && cp "$work"/*.json "$keep"; fi
"$python" "$root/tests/benchmark/ratios.py" "$work" "$rounds"
