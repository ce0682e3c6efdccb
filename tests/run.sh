#!/usr/bin/env bash
# Installs, builds, and runs every test that this machine can run; says what it skipped and why.
#
#   bash tests/run.sh [--sanitizers]     also builds and tests under asan+ubsan and tsan
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
skipped=()

sanitizers=0
case ${1:-} in
  --sanitizers) sanitizers=1 ;;
  "") ;;
  *) echo "error: [tests/usage] unknown argument '$1'; expected nothing or --sanitizers" >&2
     exit 2 ;;
esac

# Launchers of other people, of which tests start real ones; node runs the readers of profiles;
# ffmpeg writes and reads the recordings of phones.
programs=(openmpi-bin munge slurmctld slurmd slurm-client pdsh openssh-server openssh-client
  shellcheck python3-yaml ffmpeg)
type -P node > /dev/null || programs+=(nodejs)
install_programs() {
  dpkg-query -W "${programs[@]}" > /dev/null 2>&1 && return
  [ "$(id -u)" = 0 ] || return 1
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${programs[@]}" \
    > /dev/null 2>&1
}

bash core/setup.sh --tests
install_programs ||
  skipped+=("mpirun, srun, pdsh, ssh, node, ffmpeg: apt-get install ${programs[*]} did not work")
export OMP_WAIT_POLICY=PASSIVE

# What is exported and logged is read by the software it is for.
site=$(sed -n 's|^S2S_TORCH_ROOT:[A-Z]*=\(.*\)/torch$|\1|p' build/CMakeCache.txt)
if peers=$(bash tests/reference/peers.sh "$site" 2>build/peers.log); then
  cmake -S . -B build -DS2S_PEER_PYTHON="$peers" > build/configure.log 2>&1 ||
    { cat build/configure.log >&2; exit 1; }
else
  skipped+=("comparisons with transformers, PEFT, lhotse; the readers of what loggers write;\
 the Python package and its notebook: $(
    tail -n 1 build/peers.log)")
fi

labels='unit|parallel|cli|sdk|reference|device'
if [ -e /proc/driver/nvidia/version ]; then labels="$labels|gpu"
else skipped+=("gpu: no NVIDIA driver on this machine"); fi

(cd build && ctest -L "$labels" -LE slow --output-on-failure --timeout 1500 -j 2)

run_sanitized() {  # run_sanitized PRESET TARGET LABELS
  bash core/setup.sh --preset "$1" --target "$2"
  (cd "build-$1" && ctest -L "$3" --output-on-failure --timeout 1500 -j 2)
}
if [ $sanitizers = 1 ]; then
  run_sanitized asan unit_tests 'unit|threads'
  run_sanitized tsan thread_tests threads
else
  skipped+=("asan, tsan: run 'bash tests/run.sh --sanitizers' (two more builds)")
fi

echo "tests: all passed"
for reason in "${skipped[@]}"; do echo "skipped: $reason"; done
