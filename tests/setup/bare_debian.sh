#!/usr/bin/env bash
# Proves core/setup.sh where nothing is installed: makes a bare Debian 12 in a scratch folder,
# clones this commit into it, and there sets up, builds, lists the plugins and trains ten steps.
#
#   sudo bash tests/setup/bare_debian.sh [--keep] [--wheel FILE | --deb FILE] [FOLDER]
#
#   --keep        leaves the system for a look (chroot FOLDER); it is removed otherwise
#   --wheel FILE  proves a package of apps/package.sh instead: apt-get installs python3-venv only,
#                 and pip brings torch (S2S_WITH_CUDA=0: without CUDA's libraries)
#   --deb FILE    the same with apt-get and `s2s-torch install --cpu`
#   FOLDER        where it is made (default: a new one in TMPDIR); needs 6 GB, with CUDA's libraries
#                 12 GB
#
# Needs root, debootstrap and a network, downloads LibTorch anew and builds everything, so it is no
# part of tests/run.sh; it prints how long each part took. Proxies, certificates and pip's settings
# of this machine are used inside. All mounts live in a namespace that ends with the script, however
# it ends. Uncommitted changes do not take part.
set -euo pipefail

source_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
keep=0
release=bookworm

what="bare debian"
# shellcheck source=tests/setup/bare_system.sh
. "$source_dir/tests/setup/bare_system.sh"

check_host() {
  [ "$(id -u)" = 0 ] || fail "needs root (chroot, mount namespaces); run it with sudo"
  for program in debootstrap git unshare; do
    command -v $program > /dev/null || fail "$program is missing; apt-get install debootstrap git"
  done
}

make_system() {
  # shellcheck disable=SC2046  # no word where apt knows no mirror
  debootstrap --variant=minbase "$release" "$system" $(mirror) > "$system.log" 2>&1 ||
    fail "debootstrap: $(tail -5 "$system.log")"
  copy_network_settings
  mount -t proc proc "$system/proc"
  [ ! -d /proc/driver/nvidia ] || mount -t tmpfs tmpfs "$system/proc/driver/nvidia"
  mount --rbind /dev "$system/dev"
  if [ -n "$package" ]; then mkdir "$system/s2s" && cp "$package" "$system/s2s/"
  else git clone -q --no-hardlinks "file://$source_dir" "$system/s2s"; fi
  for program in c++ gcc cmake ninja python3 nvcc sudo; do
    ! inside bash -c "command -v $program" || fail "$program is in the bare system"
  done
}

expect() {  # expect TEXT FILE
  grep -qF -- "$1" "$2" || fail "'$1' was not printed: $(tail -20 "$2")"
}

refuse_plain_user() {
  ! inside setpriv --reuid=65534 --regid=65534 --clear-groups bash core/setup.sh > "$log" 2>&1 ||
    fail "a user without sudo was not refused"
  cat "$log"
  expect "error: [setup/root]" "$log"
}

set_up() {
  inside bash core/setup.sh 2>&1 | tee "$log" | grep --line-buffered -v '^\[[0-9]'
  expect "CPU targets only" "$log"
  expect "ready: build/bin/s2s-run" "$log"
}

set_up_again() {
  inside bash core/setup.sh 2>&1 | tee "$log"
  expect "packages: all there" "$log"
  expect "no work to do" "$log"
}

train() {
  inside build/bin/s2s-run train configs/tiny.yaml 2>&1 | tee "$log"
  [ "$(grep -c '"loss"' "$system/s2s/runs/tiny/metrics.jsonl")" -ge 10 ] || fail "not ten steps"
}

install_wheel() {
  inside apt-get update -qq
  inside env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
    python3 python3-venv > "$log" 2>&1 || fail "apt-get: $(tail -5 "$log")"
  inside python3 -m venv /env
  local pip=(inside /env/bin/pip install -q --no-cache-dir) cuda
  if [ "${S2S_WITH_CUDA:-1}" = 0 ]; then
    cuda=$(sed -n 's/^cuda_\([a-z]*\)_version=/nvidia-cuda-\1==/p' "$source_dir/core/setup.sh")
    # shellcheck disable=SC2086  # two words
    "${pip[@]}" --no-deps torch==2.11.0 $cuda "/s2s/$(basename "$package")"
  else
    "${pip[@]}" "/s2s/$(basename "$package")"
  fi
  program=/env/bin/s2s-run
  configs=$(inside /env/bin/python -m s2s --prefix)/share/s2s/configs
}

install_deb() {
  inside apt-get update -qq
  inside env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
    "/s2s/$(basename "$package")" > "$log" 2>&1 || fail "apt-get: $(tail -5 "$log")"
  expect "s2s-torch install" "$log"
  ! inside s2s-run plugin list > "$log" 2>&1 || fail "it starts without LibTorch"
  expect "error: [install/torch]" "$log"
  inside s2s-torch install --cpu
  program=s2s-run configs=/opt/s2s/share/s2s/configs
}

train_packaged() {
  inside "$program" plugin list | tail -3
  inside "$program" train "$configs/tiny.yaml" 2>&1 | tee "$log"
  expect "train: 10 steps" "$log"
  for program in c++ gcc cmake; do
    ! inside bash -c "command -v $program" || fail "$program came with the package"
  done
}

prove_package() {
  timed "installation" "install_$1"
  timed "ten steps of configs/tiny.yaml" train_packaged
  du -shx "$system" | sed "s/^/$what: size /"
  if [ "$1" = deb ]; then
    inside apt-get remove -y -qq s2s > "$log" 2>&1 || fail "apt-get remove: $(tail -5 "$log")"
    [ ! -e "$system/opt/s2s" ] || fail "the removed package left $(ls "$system/opt/s2s")"
  fi
  say "passed"
}

# Process 1 of the namespace.
prove() {  # prove SYSTEM KIND PACKAGE
  system=$1 package=$3
  log=$system.log
  timed "debootstrap" make_system
  [ -z "$package" ] || { prove_package "$2"; return; }
  timed "refusing a plain user" refuse_plain_user
  timed "set-up and build" set_up
  timed "plugin list" inside build/bin/s2s-run plugin list
  timed "ten steps of configs/tiny.yaml" train
  timed "set-up again" set_up_again
  du -shx "$system" | sed "s/^/$what: size /"
  say "passed"
}

if [ "${1:-}" = --inside-namespace ]; then prove "${@:2}"; exit; fi
kind='' package=''
while [[ ${1:-} = --* ]]; do
  case $1 in
    --keep) keep=1 ;;
    --wheel|--deb)
      kind=${1#--}
      package=$(realpath -e "${2:-}" 2> /dev/null) || fail "$1 needs a file, got '${2:-}'"
      shift ;;
    *) fail "unknown argument '$1'; expected --keep, --wheel FILE or --deb FILE" ;;
  esac
  shift
done
check_host
folder=${1:-$(mktemp -d)}
mkdir -p "$folder"
[ -z "$(ls -A "$folder")" ] || fail "$folder is not empty"
unshare --mount --pid --fork --kill-child bash "${BASH_SOURCE[0]}" --inside-namespace \
  "$(cd "$folder" && pwd)/debian" "$kind" "$package" &
namespace=$!
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
wait "$namespace"
