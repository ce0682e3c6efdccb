#!/usr/bin/env bash
# Installs what a fresh Debian-like machine lacks, then configures and builds. Doing it twice does
# nothing twice.
#
#   bash core/setup.sh [--no-build] [--tests] [--preset NAME] [--target NAME]
#
#   --tests            builds the tests too, not only s2s-run and its plugins
#   --target NAME      builds this target, e.g. unit_tests
#
#   S2S_DEPS_DIR       where LibTorch is kept, shared by all clones (default: ~/.cache/s2s)
#   CMAKE_PREFIX_PATH  a LibTorch of your own; it wins and nothing is downloaded
#   S2S_WITH_CUDA      auto (default: when a CUDA toolkit or an NVIDIA driver is here), 0 or 1
#   S2S_JOBS           compile jobs (default: as many as cores and memory allow)
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
torch_version=2.11.0
cuda_runtime_version=13.0.96
cuda_cupti_version=13.0.85
deps=${S2S_DEPS_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/s2s}
preset=release
build=1
target=product

packages=(
  ca-certificates git g++ cmake ninja-build ccache mold pkg-config python3 python3-venv
  libboost-dev libboost-filesystem-dev libyaml-cpp-dev libcli11-dev doctest-dev nlohmann-json3-dev
  zlib1g-dev libminizip-dev libarchive-dev libsndfile1-dev libsentencepiece-dev libpcre2-dev
  libutf8proc-dev libsimdjson-dev
  flite flite1-dev pocketsphinx pocketsphinx-en-us
)

say() { printf 's2s setup: %s\n' "$*"; }
fail() { printf 'error: [setup/%s] %s\n' "$1" "$2" >&2; exit 1; }

parse_arguments() {
  while [ $# -gt 0 ]; do
    case $1 in
      --no-build) build=0 ;;
      --tests) target=all ;;
      --preset) [ $# -ge 2 ] || fail usage "--preset needs a name; see CMakePresets.json"
                preset=$2; shift ;;
      --target) [ $# -ge 2 ] || fail usage "--target needs a name, e.g. unit_tests"
                target=$2; shift ;;
      -h|--help) sed -n '2,13p' "${BASH_SOURCE[0]}" | sed 's/^# \{0,1\}//'; exit 0 ;;
      *) fail usage "unknown argument '$1'; bash core/setup.sh --help lists what there is" ;;
    esac
    shift
  done
}

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"
  elif command -v sudo >/dev/null; then sudo "$@"
  else
    fail root "packages are missing and there is neither root nor sudo; install ${missing[*]}"
  fi
}

# Sets `missing`.
find_missing_packages() {
  missing=()
  for package in "${packages[@]}"; do
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' ||
      missing+=("$package")
  done
}

install_packages() {
  command -v dpkg-query >/dev/null ||
    fail system "this is no Debian-like system (no dpkg); install by hand: ${packages[*]}"
  find_missing_packages
  if [ ${#missing[@]} = 0 ]; then say "packages: all there"; return; fi
  say "packages: installing ${missing[*]}"
  as_root apt-get update -qq || fail packages "apt-get update failed; is there a network?"
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
    "${missing[@]}" >/dev/null || fail packages "apt-get could not install: ${missing[*]}"
  find_missing_packages  # apt-get ends well when it is interrupted
  [ ${#missing[@]} = 0 ] || fail packages "apt-get did not install: ${missing[*]}; run this again"
}

# True when a CUDA build makes sense here.
with_cuda() {
  case ${S2S_WITH_CUDA:-auto} in
    0) return 1 ;;
    1) return 0 ;;
    *) command -v nvcc >/dev/null || [ -x /usr/local/cuda/bin/nvcc ] ||
         [ -e /proc/driver/nvidia/version ] ;;
  esac
}

# A run path that ends with a colon makes the loader look in the current folder, which may be a
# downloaded one: NVIDIA's wheel of cuSPARSELt has "$ORIGIN:". The colon becomes the text's end.
close_run_paths() {  # close_run_paths SITE_PACKAGES
  local library at
  [ ! -e "$1/.run-paths-closed" ] || return 0
  for library in "$1"/nvidia/*/lib/*.so*; do
    [ -f "$library" ] || continue
    for at in $(LC_ALL=C grep -obUaP '\$ORIGIN:\x00' "$library" | cut -d: -f1); do
      printf '\0' | dd of="$library" bs=1 seek=$((at + 7)) conv=notrunc status=none
      say "run path of $(basename "$library"): no longer the current folder"
    done
  done
  touch "$1/.run-paths-closed"
}

# Sets torch_root; downloads the wheel once.
install_torch() {
  local candidate
  IFS=: read -ra prefixes <<< "${CMAKE_PREFIX_PATH:-}"
  for candidate in "${prefixes[@]}"; do
    for torch_root in "$candidate" "$candidate/torch"; do
      [ -f "$torch_root/include/ATen/ATen.h" ] || continue
      say "LibTorch: $torch_root (CMAKE_PREFIX_PATH)"
      return
    done
  done
  local flavor=cpu
  if with_cuda; then flavor=cuda; say "CUDA found: LibTorch with its GPU libraries";
  else say "no CUDA toolkit and no NVIDIA driver: CPU targets only"; fi
  local venv=$deps/torch-$torch_version-$flavor
  mkdir -p "$deps"
  exec 9>"$deps/.lock"
  flock 9  # two clones may set up at once
  if [ ! -f "$venv/.complete" ]; then
    say "LibTorch: installing torch $torch_version ($flavor) into $venv"
    rm -rf "$venv"
    python3 -m venv "$venv"
    if [ $flavor = cuda ]; then "$venv/bin/pip" install -q --no-cache-dir "torch==$torch_version"
    else
      "$venv/bin/pip" install -q --no-cache-dir --no-deps "torch==$torch_version" \
        "nvidia-cuda-runtime==$cuda_runtime_version" "nvidia-cuda-cupti==$cuda_cupti_version"
    fi || fail torch "pip could not install torch $torch_version; is there network and space?"
    touch "$venv/.complete"
  fi
  close_run_paths "$(echo "$venv"/lib/python3*/site-packages)"
  flock -u 9
  torch_root=$(echo "$venv"/lib/python3*/site-packages/torch)
  say "LibTorch: $torch_root"
}

# Compile jobs: a file that includes ATen takes about 1.2 GiB.
num_jobs() {
  local cores memory
  cores=$(env -u OMP_NUM_THREADS nproc)  # nproc would answer OMP_NUM_THREADS
  memory=$(awk '/MemAvailable/ {print int($2 / 1258291)}' /proc/meminfo)
  [ "$memory" -ge 1 ] || memory=1
  echo "${S2S_JOBS:-$((cores < memory ? cores : memory))}"
}

configure_and_build() {
  cd "$root"
  local dir
  dir=build; [ "$preset" = release ] || dir=build-$preset
  say "configure: preset $preset"
  cmake --preset "$preset" -DS2S_TORCH_ROOT="$torch_root" > "$dir.configure.log" 2>&1 ||
    { cat "$dir.configure.log" >&2; fail configure "cmake failed; the log is above"; }
  mv "$dir.configure.log" "$dir/configure.log"
  say "build: $(num_jobs) jobs"
  cmake --build "$dir" --target "$target" -j "$(num_jobs)" ||
    fail build "the build failed; the first error is above"
  say "ready: $dir/bin/s2s-run"
}

parse_arguments "$@"
install_packages
install_torch
if [ $build = 1 ]; then configure_and_build; fi
