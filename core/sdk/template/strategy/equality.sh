#!/bin/bash
# usage: equality.sh S2S_RUN PLUGIN_FOLDER [CONFIG [key=value...]]
# Trains CONFIG (default: tiny.yaml, ten steps) in four processes with COMPONENT_NAME, with 4 and
# with 2 data ranks, and in one process that accumulates the same number of batches. Losses and
# gradient norms of all steps must agree to 1e-4. Arguments after CONFIG change all runs, for
# example model.llm.name=your.own to test a language model's plan.
set -euo pipefail
s2s_run=$(realpath "$1")
plugins=$(realpath "$2")
while IFS= read -r -d : folder; do  # they are found from another folder, too
  plugins=$plugins${folder:+:$(realpath "$folder")}
done <<< "${S2S_PLUGIN_PATH:-}:"
export S2S_PLUGIN_PATH=$plugins OMP_NUM_THREADS=1
config=${3:-$(dirname "$s2s_run")/../share/s2s/configs/tiny.yaml}
[ -e "$config" ] || { echo "no configuration $config"; exit 2; }
config=$(realpath "$config")
shift $(($# < 3 ? $# : 3))
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

train() {  # train FOLDER BATCHES COMMAND...
  local run=$1 batches=$2
  shift 2
  "$@" "exp_manager.explicit_log_dir=$run" "trainer.accumulate_grad_batches=$batches" \
    > "$run.log" 2>&1 || { cat "$run.log"; exit 1; }
}
numbers() { sed -n 's/.*"loss":\([^,]*\),.*"grad_norm":\([^,]*\),.*/\1 \2/p' "$1/metrics.jsonl"; }
compare() {  # compare EXPECTED FOUND
  paste <(numbers "$1") <(numbers "$2") | awk -v what="$2" '
    function differ(a, b) { d = (a - b) / a; return d < 0 ? -d : d }
    NF == 4 { steps++; l = differ($1, $3); n = differ($2, $4)
              if (l > worst) worst = l; if (n > worst) worst = n }
    END { printf "%s: %d steps, largest relative difference %.1e\n", what, steps, worst
          exit !(steps > 0 && steps == NR && worst < 1e-4) }'
}

strategy=trainer.strategy.name=COMPONENT_NAME
train four-one 4 "$s2s_run" train "$config" "$@"
train two-one 2 "$s2s_run" train "$config" "$@"
train four 1 "$s2s_run" launch local -n 4 -- train "$config" "$@" "$strategy"
train tensor 1 "$s2s_run" launch local -n 4 -- train "$config" "$@" "$strategy" \
  trainer.strategy.tensor_parallel_size=2
compare four-one four
compare two-one tensor
