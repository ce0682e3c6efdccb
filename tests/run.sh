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

bash core/setup.sh --tests
export OMP_WAIT_POLICY=PASSIVE

labels='unit|parallel|cli|sdk|reference'
if [ -e /proc/driver/nvidia/version ]; then labels="$labels|gpu"
else skipped+=("gpu: no NVIDIA driver on this machine"); fi

(cd build && ctest -L "$labels" -LE slow --output-on-failure --timeout 600 -j 2)

run_sanitized() {  # run_sanitized PRESET TARGET LABEL
  bash core/setup.sh --preset "$1" --target "$2"
  (cd "build-$1" && ctest -L "$3" --output-on-failure --timeout 900 -j 2)
}
if [ $sanitizers = 1 ]; then
  run_sanitized asan unit_tests unit
  run_sanitized tsan thread_tests threads
else
  skipped+=("asan, tsan: run 'bash tests/run.sh --sanitizers' (two more builds)")
fi

echo "tests: all passed"
for reason in "${skipped[@]}"; do echo "skipped: $reason"; done
