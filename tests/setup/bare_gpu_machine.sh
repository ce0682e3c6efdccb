#!/usr/bin/env bash
# Rehearses the kit for GPU machines (tests/gpu) where nothing is installed: packs a build, makes a
# bare Debian 13 in a scratch folder with Python, torch, transformers and numpy, and runs the bundle
# there without a network: `run.sh --rehearse all`, on the CPU.
#
#   sudo bash tests/setup/bare_gpu_machine.sh [OPTION...] [FOLDER [PHASE...]]
#
#   --build DIR   a build with `product`, `s2s-bench` and the programs to carry (default: build)
#   --nvidia DIR  the folder `nvidia` of an installed torch 2.11.0 wheel, mounted read-only, instead
#                 of a download of CUDA's libraries (2.7 GB), which that wheel's import needs
#   --keep        leaves the system for the next call, which then uses it; it is removed otherwise
#   FOLDER        where it is made (default: a new one in TMPDIR), outside of the repository; 3 GB,
#                 without --nvidia 8 GB
#   PHASE...      phases of run.sh (default: all)
#
# Needs root, debootstrap, iproute2 and a network, so it is no part of tests/run.sh. All mounts live
# in a namespace that ends with the script, however it ends.
set -euo pipefail

source_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
keep=0 build=$source_dir/build nvidia=''
release=trixie
what="bare GPU machine"
# shellcheck source=tests/setup/bare_system.sh
. "$source_dir/tests/setup/bare_system.sh"

check_host() {
  [ "$(id -u)" = 0 ] || fail "needs root (chroot, mount namespaces); run it with sudo"
  local program
  for program in debootstrap unshare ip; do
    command -v $program > /dev/null ||
      fail "$program is missing; apt-get install debootstrap util-linux iproute2"
  done
  [ -z "$nvidia" ] || [ -d "$nvidia/cudnn/lib" ] || fail "'$nvidia' has no cudnn/lib"
}

make_system() {
  # shellcheck disable=SC2046  # no word where apt knows no mirror
  debootstrap --variant=minbase "$release" "$system.part" $(mirror) > "$system.log" 2>&1 ||
    fail "debootstrap: $(tail -5 "$system.log")"
  mv "$system.part" "$system"
}

mount_all() {
  mkdir -p "$system/s2s"
  mount -t proc proc "$system/proc"
  mount --rbind /dev "$system/dev"
}

pip() {
  inside /env/bin/pip install -q --no-cache-dir "$@" >> "$system.log" 2>&1 ||
    fail "pip: $(tail -5 "$system.log")"
}

install_python() {
  copy_network_settings
  inside apt-get update -qq >> "$system.log" 2>&1 || fail "apt-get: $(tail -5 "$system.log")"
  inside env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
    python3 python3-venv >> "$system.log" 2>&1 || fail "apt-get: $(tail -5 "$system.log")"
  copy_network_settings  # ca-certificates has just written its own
  inside python3 -m venv /env
  # The packages of torch that are not mounted; pip says that the rest is missing.
  local packages=(torch==2.11.0) others
  others="numpy safetensors transformers filelock typing_extensions sympy networkx jinja2 fsspec"
  [ -z "$nvidia" ] || packages=(--no-deps torch==2.11.0)
  pip "${packages[@]}"
  # shellcheck disable=SC2086  # words
  pip $others
  touch "$system/env/complete"
}

mount_nvidia() {
  local there
  there=$(echo "$system"/env/lib/python3.*/site-packages)/nvidia
  mkdir -p "$there"
  mount --bind "$nvidia" "$there"
  mount -o remount,bind,ro "$there"
}

without_network() {  # without_network COMMAND...: a machine of its own that has `lo` only
  # shellcheck disable=SC2016  # the inner shell's
  unshare --net bash -c 'ip link set lo up && exec "$@"' without_network "$@"
}

rehearse() {
  local rc=0
  cp "$folder"/bundle/{run.sh,bundle.tar.xz,SHA256SUMS} "$system/s2s/"
  rm -rf "$system/s2s/there"
  export -f inside
  export system
  without_network bash -c 'inside "$@"' rehearse bash run.sh --rehearse --python /env/bin/python \
    --work /s2s/there "$@" || rc=$?
  cp -r "$system/s2s/there/results" "$folder/" 2> /dev/null || true
  return $rc
}

# Process 1 of the namespace.
prove() {  # prove FOLDER NVIDIA PHASE...
  folder=$1 nvidia=$2 system=$1/debian
  shift 2
  [ -d "$system" ] || timed "debootstrap" make_system
  mount_all
  [ -f "$system/env/complete" ] || timed "Python and torch" install_python
  [ -z "$nvidia" ] || mount_nvidia
  timed "the rehearsal" rehearse "$@"
  say "passed"
}

if [ "${1:-}" = --inside-namespace ]; then prove "${@:2}"; exit; fi
while [[ ${1:-} = --* ]]; do
  case $1 in
    --keep) keep=1 ;;
    --build|--nvidia)
      [ -d "${2:-}" ] || fail "$1 needs a folder, got '${2:-}'"
      printf -v "${1#--}" '%s' "$(realpath "$2")"
      shift ;;
    *) fail "unknown argument '$1'; expected --keep, --build DIR or --nvidia DIR" ;;
  esac
  shift
done
check_host
folder=${1:-$(mktemp -d)}
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
[[ $folder/ != "$source_dir"/* ]] || fail "$folder is in the repository"
[ -z "$(ls -A "$folder")" ] || [ -d "$folder/debian" ] || fail "$folder is not empty"
bash "$source_dir/tests/gpu/pack.sh" --build "$build" --out "$folder/bundle"
phases=("${@:2}")
[ ${#phases[@]} -gt 0 ] || phases=(all)
unshare --mount --pid --fork --kill-child bash "${BASH_SOURCE[0]}" --inside-namespace \
  "$folder" "$nvidia" "${phases[@]}" &
namespace=$!
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
wait "$namespace"
