# For the tests of launchers: sourced with s2s_run set to the program.

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failed=0
export OMP_NUM_THREADS=1
bench=(bench collectives --size 4K)

free_port() {
  python3 -c '
import socket
listener = socket.socket()
listener.bind(("127.0.0.1", 0))
print(listener.getsockname()[1])'
}

skip() { echo "skipped: $1"; exit 77; }

# complain WHAT FILE: a check that does not hold, with what was printed.
complain() {
  echo "FAILED: $1"
  sed 's/^/    /' "$2"
  failed=1
}

# expect_code CODE FILE COMMAND...: runs it, its output goes to FILE.
expect_code() {
  local expected=$1 file=$2 code
  shift 2
  "$@" > "$file" 2>&1
  code=$?
  [ "$code" = "$expected" ] || complain "exit code $code instead of $expected: $*" "$file"
}

# expect_text FILE TEXT...: each text stands in it.
expect_text() {
  local file=$1 text
  shift
  for text in "$@"; do
    grep -qF -- "$text" "$file" || complain "'$text' is missing" "$file"
  done
}

# expect_right FILE LAUNCHER RANKS: the JSON of bench collectives.
expect_right() {
  python3 - "$@" << 'PYTHON' || complain "not the expected measurement" "$1"
import json, sys
text = open(sys.argv[1]).read()
found = json.loads(text[text.index("{"):text.rindex("}") + 1])
assert found["launcher"] == sys.argv[2], found["launcher"]
assert [one["rank"] for one in found["ranks"]] == list(range(int(sys.argv[3])))
assert len({one["process"] for one in found["ranks"]}) == int(sys.argv[3])
num_collectives = 6 if len(found["ranks"]) > 1 else 5  # one rank sends no messages
assert len(found["collectives"]) == num_collectives
assert all(one["right"] for one in found["collectives"])
PYTHON
}

# wait_for_lines FILE COUNT TEXT: until that many lines of a growing file have the text.
wait_for_lines() {
  for _ in $(seq 600); do
    [ -e "$1" ] && [ "$(grep -cF -- "$3" "$1")" -ge "$2" ] && return
    sleep 0.1
  done
  complain "no '$3' came" "$1"
}

finish() {
  [ $failed = 0 ] && echo "ok: $1"
  exit $failed
}
