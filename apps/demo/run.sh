#!/usr/bin/env bash
# The demo: from a bare machine to a model that answers spoken questions, and a page to hear it.
# Installs, builds, makes spoken dialogues, trains on them, validates, writes a listening report.
# Running it again reuses what is there.
#
#   bash apps/demo/run.sh [--quick] [--seed N] [--runs DIR]
#
#   --quick   the same in miniature; the answers stay poor
#   --seed N  another random start (default 1); each seed has its own run folder
#   --runs    where data and runs are kept (default: runs)
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cd "$root"
quick=0 seed=1 runs=runs

usage() { sed -n '2,10p' "${BASH_SOURCE[0]}" | sed 's/^# \{0,1\}//'; }
fail() { printf 'error: [demo/%s] %s\n' "$1" "$2" >&2; exit 2; }
while [ $# -gt 0 ]; do
  case $1 in
    --quick) quick=1 ;;
    --seed) [[ ${2:-} =~ ^[0-9]+$ ]] || fail usage "--seed needs a number"; seed=$2; shift ;;
    --runs) [ -n "${2:-}" ] || fail usage "--runs needs a folder"; runs=$2; shift ;;
    -h|--help) usage; exit 0 ;;
    *) fail usage "unknown argument '$1'; see --help" ;;
  esac
  shift
done

bash core/setup.sh
s2s=build/bin/s2s-run
# Threads that wait spin, but not for long: a busy neighbour costs what it takes, no more.
export GOMP_SPINCOUNT=20000

config=configs/demo.yaml
size=full synth=() changes=()
if [ $quick = 1 ]; then
  size=quick synth=(--quick)
  changes=(trainer.max_steps=700 trainer.val_check_interval=350 model.lr_scheduler.warmup_steps=20
           exp_manager.checkpoint_callback_params.every_n_train_steps=350
           model.stages.1.from_step=350 model.stages.2.from_step=450)
fi
data=$runs/demo-data-$size
run=$runs/demo-$size-$seed
changes+=("demo.data=$data" "demo.run=$run" "trainer.seed=$seed" "data.train_ds.seed=$seed")

started=$SECONDS
step() { printf '\n== %s (%d s so far)\n' "$1" $((SECONDS - started)); }

step "1/6 spoken dialogues: $data"
"$s2s" data synth "$data" "${synth[@]}"

step "2/6 what is in them"
"$s2s" data inspect "$data/train.jsonl"

step "3/6 training: $run"
"$s2s" train "$config" "${changes[@]}"

step "4/6 validation on questions and a voice it never heard"
"$s2s" validate "$config" "${changes[@]}" --checkpoint "$run/checkpoints/last"

step "5/6 a live conversation, 80 ms at a time"
"$s2s" generate "$config" "${changes[@]}" --checkpoint "$run/checkpoints/last" \
  --input "$data/audio/dev/dev-000000_user.wav" --output "$run/live" --stream

step "6/6 done"
echo "listen: $run/report/index.html"
echo "live:   $run/live"
