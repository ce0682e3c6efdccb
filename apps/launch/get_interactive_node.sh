#!/bin/bash
# usage: get_interactive_node.sh [-N NODES] [-g GPUS] [-t TIME] [-p PARTITION] [-A ACCOUNT]
#                                [-c IMAGE] [-- SRUN_OPTIONS]
#
# Opens a shell on a node of a SLURM cluster, for debugging: one node of 8 GPUs for two hours
# unless told otherwise. -g 0 asks for no GPU. -c starts the shell in a container (pyxis). In the
# shell, run `s2s-run launch local -n GPUS -- train FILE.yaml`, or run.sh.
set -euo pipefail

usage() { sed -n '2,7s/^# \{0,1\}//p' "$0"; exit "$1"; }

nodes=1 gpus=8 time=02:00:00 options=()
while getopts N:g:t:p:A:c:h option; do
  case $option in
    N) nodes=$OPTARG ;;
    g) gpus=$OPTARG ;;
    t) time=$OPTARG ;;
    p) options+=("--partition=$OPTARG") ;;
    A) options+=("--account=$OPTARG") ;;
    c) options+=("--container-image=$OPTARG") ;;
    h) usage 0 ;;
    *) usage 2 >&2 ;;
  esac
done
shift $((OPTIND - 1))
[ "$gpus" = 0 ] || options+=("--gpus-per-node=$gpus")
exec srun --job-name=s2s-interactive --nodes="$nodes" --ntasks-per-node=1 --time="$time" \
  "${options[@]}" "$@" --pty "${SHELL:-/bin/bash}" -l
