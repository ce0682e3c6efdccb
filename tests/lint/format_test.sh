#!/bin/bash
# usage: format_test.sh SOURCE_DIR
# Every C++ file is as clang-format 14 writes it with the settings in the root. Versions differ in
# what they write, so another one does not judge.
set -uo pipefail
cd "$1" || exit 2
clang_format=$(type -P clang-format-14 || type -P clang-format || echo false)
if ! "$clang_format" --version 2> /dev/null | grep -q ' version 14\.'; then
  echo "skipped: clang-format 14 is not installed (apt-get install clang-format-14)"
  exit 0
fi
mapfile -t files < <(find core plugins apps tests \( -name '*.cc' -o -name '*.h' \) -type f | sort)
badly=$("$clang_format" --dry-run --Werror "${files[@]}" 2>&1 |
  sed -n 's/^\([^: ]*\):.* error: .*/\1/p' | sort -u)
if [ -n "$badly" ]; then
  echo "not formatted; clang-format -i" $badly
  exit 1
fi
echo "ok: ${#files[@]} files formatted"
