#!/bin/bash
# usage: style_test.sh SOURCE_DIR
# Files of at most 400 lines, lines of at most 100 columns, ASCII, no tabs. A table or generated file
# is exempt when one of its first five lines says "lint: exempt, REASON".
set -uo pipefail
cd "$1" || exit 2
failed=0
exempt() { head -5 "$1" | grep -q 'lint: exempt, .'; }

while IFS= read -r file; do
  lines=$(wc -l < "$file")
  if [ "$lines" -gt 400 ] && ! exempt "$file"; then
    echo "$file has $lines lines, at most 400: split it by what its parts are about"
    failed=1
  fi
  if ! exempt "$file" && LC_ALL=C.UTF-8 grep -nE '^.{101,}$' "$file" /dev/null | cut -c1-120; then
    echo "  lines of more than 100 columns: clang-format -i $file"
    failed=1
  fi
  if LC_ALL=C grep -nP '[^\x00-\x7F]|\t' "$file" /dev/null | cut -c1-120; then
    echo "  characters that are not ASCII, or tabs"
    failed=1
  fi
done < <(find core plugins apps tests \( -name '*.cc' -o -name '*.h' -o -name '*.cmake' -o \
           -name '*.sh' -o -name '*.py' -o -name CMakeLists.txt \) -type f | sort)

[ $failed -eq 0 ] && echo "ok: sizes and characters"
exit $failed
