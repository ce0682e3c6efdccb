#!/bin/sh
# precompile.sh COMPILER...: compiles a header. The old one behind -o is removed before, or ccache
# would not look for it, and a checksum is written beside the new one, or ccache would read its 400
# MB for each file that uses it (CCACHE_PCH_EXTSUM).
output=
previous=
for word in "$@"; do
  [ "$previous" = -o ] && output=$word
  previous=$word
done
[ -n "$output" ] || exec "$@"
rm -f -- "$output" "$output.sum"
"$@" || exit
md5sum < "$output" > "$output.sum"
