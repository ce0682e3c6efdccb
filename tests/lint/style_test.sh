#!/bin/bash
# usage: style_test.sh SOURCE_DIR
# Files of at most 400 lines, lines of at most 100 columns, ASCII, no tabs. A table or generated
# file is exempt when one of its first five lines says "lint: exempt, REASON".
set -uo pipefail
cd "$1" || exit 2
mapfile -t files < <(find core plugins apps tests \( -name '*.cc' -o -name '*.h' -o -name '*.cmake' -o \
  -name '*.sh' -o -name '*.py' -o -name CMakeLists.txt \) -type f | sort)

findings=$(LC_ALL=C awk '
  FNR == 1 { exempt = 0 }
  FNR <= 5 && /lint: exempt, ./ { exempt = 1 }
  FNR == 401 && !exempt {
    print FILENAME ": more than 400 lines: split it by what its parts are about"
  }
  length > 100 && !exempt {
    print FILENAME ":" FNR ": more than 100 columns: clang-format -i " FILENAME
  }
  /[^ -~]/ { print FILENAME ":" FNR ": a tab, or a character that is not ASCII: " substr($0, 1, 80) }
' "${files[@]}")
if [ -n "$findings" ]; then
  echo "$findings"
  exit 1
fi
echo "ok: sizes and characters of ${#files[@]} files"
