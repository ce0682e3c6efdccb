#!/bin/bash
# usage: auto_launcher_with_seed.sh [-nN] JOB.sub [KEY=VALUE...]
#
# Submits N jobs (1 without -n), one after the other, each with a random seed as its first argument.
# JOB.sub is a script of `s2s-run launch slurm`, or one of your own that reads the seed from $1:
# it belongs in data.train_ds.seed. A job starts when the one before it has ended, however it ended.
set -euo pipefail

usage() { sed -n '2,6s/^# \{0,1\}//p' "$0"; exit "$1"; }

count=1
while getopts n:h option; do
  case $option in
    n) count=$OPTARG ;;
    h) usage 0 ;;
    *) usage 2 >&2 ;;
  esac
done
shift $((OPTIND - 1))
if ! [[ $count =~ ^[1-9][0-9]*$ ]]; then
  echo "error: -n $count: expected a number above 0" >&2
  exit 2
fi
[ $# -ge 1 ] || usage 2 >&2
job=$1
shift
[ -r "$job" ] || { echo "error: $job cannot be read" >&2; exit 2; }

after=()
for _ in $(seq "$count"); do
  seed=$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')
  seed=$((seed / 2))
  id=$(sbatch --parsable "${after[@]}" "$job" "$seed" "$@")
  echo "job ${id%%;*}, seed $seed"
  after=("--dependency=afterany:${id%%;*}")
done
