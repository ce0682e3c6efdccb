#!/bin/sh
# without_old_output.sh COMPILER...: removes the file behind -o, and compiles.
output=
previous=
for word in "$@"; do
  [ "$previous" = -o ] && output=$word
  previous=$word
done
[ -z "$output" ] || rm -f -- "$output"
exec "$@"
