#!/usr/bin/env bash
# The demo: from a bare machine to a model that answers spoken questions, and a page to hear it.
# Installs and builds s2s, makes spoken dialogues, trains, validates and writes a listening report.
# A second run reuses the results of the first.
#
#   bash apps/demo/run.sh [--quick] [--codec] [--shar] [--seed N] [--runs DIR]
#
#   --quick   a small version of each step; the answers are poor
#   --codec   trains a neural codec first and speaks with it: an hour in all
#   --shar    training reads two weighted Shar directories, in buckets, with four threads
#   --seed N  random seed (default 1); each seed has its own run folder
#   --runs    folder of the data and the runs (default: runs)
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cd "$root"
quick=0 codec=0 shar=0 seed=1 runs=runs

usage() { sed -n '2,12p' "${BASH_SOURCE[0]}" | sed 's/^# \{0,1\}//'; }
fail() { printf 'error: [demo/%s] %s\n' "$1" "$2" >&2; exit 2; }
while [ $# -gt 0 ]; do
  case $1 in
    --quick) quick=1 ;;
    --codec) codec=1 ;;
    --shar) shar=1 ;;
    --seed) [[ ${2:-} =~ ^[0-9]+$ ]] || fail usage "--seed expects a number"; seed=$2; shift ;;
    --runs) [ -n "${2:-}" ] || fail usage "--runs expects a folder"; runs=$2; shift ;;
    -h|--help) usage; exit 0 ;;
    *) fail usage "unknown argument '$1'; see --help" ;;
  esac
  shift
done

bash core/setup.sh
s2s=build/bin/s2s-run

config=configs/demo.yaml
size=full synth=() changes=() codec_changes=()
if [ $quick = 1 ]; then
  size=quick synth=(--quick)
  changes=(trainer.max_steps=700 trainer.val_check_interval=350 model.lr_scheduler.warmup_steps=20
           exp_manager.checkpoint_callback_params.every_n_train_steps=350
           model.stages.1.from_step=350 model.stages.2.from_step=450)
  codec_changes=(trainer.max_steps=200 trainer.val_check_interval=200)
fi
data=$runs/demo-data-$size
run=$runs/demo-$size-$seed
voice=$runs/demo-codec-$size
[ $codec = 0 ] || run+=-codec
[ $shar = 0 ] || run+=-shar
changes+=("demo.data=$data" "demo.run=$run" "trainer.seed=$seed" "data.train_ds.seed=$seed")

started=$SECONDS
step() { printf '\n== %s (%d s so far)\n' "$1" $((SECONDS - started)); }

step "1/6 spoken dialogues: $data"
"$s2s" data synth "$data" "${synth[@]}"

step "2/6 what is in them"
"$s2s" data inspect "$data/train.jsonl"

if [ $shar = 1 ]; then
  step "    the same dialogues in two Shar directories: $data/shar-third, $data/shar-rest"
  awk -v third="$data/third.jsonl" -v rest="$data/rest.jsonl" \
    '{ print > (NR % 3 == 0 ? third : rest) }' "$data/train.jsonl"
  for part in third rest; do
    [ -e "$data/shar-$part" ] && continue
    rm -rf "$data/shar-$part.partial"
    "$s2s" data shar "$data/$part.jsonl" "$data/shar-$part.partial" \
      --fields recording=flac,target_audio=flac --shard-size 200
    mv "$data/shar-$part.partial" "$data/shar-$part"
  done
  sources="{type: lhotse_shar, shar_path: $data/shar-third, weight: 1},
    {type: lhotse_shar, shar_path: $data/shar-rest, weight: 2}"
  changes+=("data.train_ds={cuts_path: null, batch_size: null, concatenate: null,
    input_cfg: [$sources], batch_duration: 41,
    use_bucketing: true, num_buckets: 4, bucket_buffer_size: 1000,
    num_cuts_for_bins_estimate: 1000, shuffle: true,
    shuffle_buffer_size: 1000, seed: $seed, shard_seed: $seed, num_workers: 4}")
fi

if [ $codec = 1 ]; then
  step "    a codec for the agent's voice: $voice"
  "$s2s" train configs/codec.yaml '~data.synth' "codec.data=$data" "codec.run=$voice" \
    "${codec_changes[@]}"
  "$s2s" checkpoint export "$voice" "$voice-hf" --force
  changes+=('~model.codec.sample_rate' model.codec.name=encodec "model.codec.path=$voice-hf"
            model.codec_frames=2)
fi

step "3/6 training: $run"
"$s2s" train "$config" "${changes[@]}"

step "4/6 validation on questions and a voice it never heard"
"$s2s" validate "$config" "${changes[@]}" --checkpoint "$run/checkpoints/last"

step "5/6 a live conversation, 80 ms at a time"
"$s2s" generate "$config" "${changes[@]}" --checkpoint "$run/checkpoints/last" \
  --input "$data/audio/dev/dev-000000_user.wav" --output "$run/live" --stream --force

step "6/6 done"
echo "listen: $run/report/index.html"
echo "live:   $run/live"
