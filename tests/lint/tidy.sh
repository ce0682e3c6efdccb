#!/usr/bin/env bash
# Runs clang-tidy 14 with the settings in the root; any finding fails.
#
#   bash tests/lint/tidy.sh [FILE...]     default: the .cc files that differ from main
#
# It configures build-dev for the compile commands and builds nothing. A file takes 10 to 20
# seconds, so this is a tool for what one has changed and no part of tests/run.sh.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

clang_tidy=$(type -P clang-tidy-14 || true)
if [ -z "$clang_tidy" ]; then
  echo "error: [lint/tidy] clang-tidy 14 is not installed; apt-get install clang-tidy-14" >&2
  exit 2
fi
cmake --preset dev > /dev/null
files=("$@")
if [ $# = 0 ]; then
  mapfile -t files < <({ git diff --name-only --diff-filter=d main
    git ls-files --others --exclude-standard; } | grep '\.cc$' | sort -u)
fi
[ ${#files[@]} -gt 0 ] || { echo "clang-tidy: no changed .cc file"; exit 0; }

# The flags are GCC's: its precompiled headers are not clang's, and some warnings neither.
printf '%s\0' "${files[@]}" | xargs -0 -n 1 -P "$(nproc)" "$clang_tidy" --quiet -p build-dev \
  --warnings-as-errors='*' --extra-arg=-Wno-unknown-warning-option \
  --extra-arg=-Wno-ignored-optimization-argument 2> >(grep -v 'warnings\? .*generated\.$' >&2)
echo "clang-tidy: ${#files[@]} files without a finding"
