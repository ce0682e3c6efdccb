#!/bin/bash
# usage: out_of_tree_test.sh SOURCE_DIR BUILD_DIR
# Installs the build, builds the SDK's template against it and runs the installed s2s-run.
set -euo pipefail
source_dir=$1
build_dir=$2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
prefix=$scratch/prefix
unset S2S_PLUGIN_PATH LD_LIBRARY_PATH

source "$source_dir/tests/sdk/functions.sh"

cmake --install "$build_dir" --prefix "$prefix" > "$scratch/install.log"
for file in bin/s2s-run lib/libs2s_{run,data,core}.so include/s2s/plugin.h \
    lib/cmake/s2s/{s2sConfig,s2sConfigVersion,s2sTargets,S2sAddPlugin,S2sTorch}.cmake \
    lib/cmake/s2s/plugin_exports.map share/s2s/template/metric/plugin.cc \
    share/bash-completion/completions/s2s-run share/zsh/site-functions/_s2s-run \
    share/fish/vendor_completions.d/s2s-run.fish share/man/man1/s2s-run.1; do
  [ -s "$prefix/$file" ] || fail "$file is not installed"
done
cmp -s "$prefix/share/man/man1/s2s-run.1" <("$prefix/bin/s2s-run" completion man) ||
  fail "the manual page is not that of the installed program"
expect "from the template tiny" "$prefix/bin/s2s-run" new "$scratch/project"
expect "ok" bash -c "cd '$scratch/project' && '$prefix/bin/s2s-run' config check config.yaml"
! compgen -G "$prefix/lib/s2s/plugins/*fixture*" > /dev/null || fail "test fixtures are installed"

# Nothing of the build tree is needed: no path to it, nothing missing.
for file in "$prefix"/lib/*.so "$prefix"/lib/s2s/plugins/*.so "$prefix/bin/s2s-run"; do
  [ -e "$file" ] || continue
  missing=$(ldd "$file" | grep 'not found' || true)
  [ -z "$missing" ] || fail "$file lacks $missing"
  ! ldd "$file" | grep -qF "$build_dir" || fail "$file needs the build tree"
done

# No run path leads to the current folder; nor does anything else that the loader looks at.
check_run_paths() { python3 "$source_dir/tests/lint/run_paths_test.py" "$1" > "$scratch/log" ||
  fail "$(cat "$scratch/log")"; }
check_run_paths "$prefix"
looked_at=$(cd "$scratch" && LD_DEBUG=libs "$prefix/bin/s2s-run" plugin inspect adamw 2>&1)
grep -q 'trying file=/' <<< "$looked_at" || fail "LD_DEBUG=libs shows nothing: $looked_at"
! grep 'trying file=[^/]' <<< "$looked_at" || fail "the current folder is searched for libraries"

# The installed program finds its own plugins, by the notes and by loading them.
expect "$prefix/lib/s2s/plugins" "$prefix/bin/s2s-run" plugin path
built=$(find "$build_dir/lib/s2s/plugins" -name '*.so' 2> /dev/null | wc -l)
listed=$("$prefix/bin/s2s-run" plugin list --json |
  grep -o "\"file\": \"$prefix[^\"]*" | sort -u | wc -l)
[ "$listed" -eq "$built" ] || fail "$built plugins were built, $listed are listed"
for plugin in "$prefix"/lib/s2s/plugins/*.so; do
  [ -e "$plugin" ] || continue
  expect "registers exactly what it declares" "$prefix/bin/s2s-run" plugin check "$plugin"
done

# A third party's build.
expect "metric:acme.length" "$prefix/bin/s2s-run" plugin new metric acme.length \
  --out "$scratch/plugin"
generator=()
[ -z "$(type -p ninja)" ] || generator=(-G Ninja)
log=$scratch/log
cmake "${generator[@]}" -S "$scratch/plugin" -B "$scratch/plugin/build" \
  -DCMAKE_PREFIX_PATH="$prefix" > "$log" 2>&1 || fail "$(cat "$log")"
cmake --build "$scratch/plugin/build" > "$log" 2>&1 || fail "$(cat "$log")"
plugin=$scratch/plugin/build/libs2s_metric_acme_length.so
visible=$(nm -D --defined-only "$plugin" | awk '{print $3}' | sort | tr '\n' ' ')
[ "$visible" = "s2s_plugin_note_v1 s2s_plugin_register " ] || fail "visible symbols: $visible"
check_run_paths "$scratch/plugin/build"
cmake --install "$scratch/plugin/build" --prefix "$scratch/elsewhere" > "$log" 2>&1 ||
  fail "$(cat "$log")"
check_run_paths "$scratch/elsewhere"
export S2S_PLUGIN_PATH=$scratch/plugin/build
expect "acme.length" "$prefix/bin/s2s-run" plugin list --kind metric
expect "divide by the number of words" "$prefix/bin/s2s-run" plugin inspect acme.length
expect " 8 ok" "$prefix/bin/s2s-run" plugin check "$plugin"

# Another SDK's headers: the plugin is listed, and not loaded until it is built again.
fingerprint=$prefix/include/s2s/sdk_fingerprint.h
cp "$fingerprint" "$scratch/fingerprint"
sed -i 's/"[0-9a-f]*"$/"000000000000"/' "$fingerprint"
cmake --build "$scratch/plugin/build" > "$log" 2>&1 || fail "$(cat "$log")"
expect "incompatible" "$prefix/bin/s2s-run" plugin list
! "$prefix/bin/s2s-run" plugin check "$plugin" > "$log" 2>&1 || fail "other headers were accepted"
for text in sdk=000000000000 "sdk=$(sed -n 's/.*"\(.*\)"$/\1/p' "$scratch/fingerprint")" \
    'cmake -B build -DCMAKE_PREFIX_PATH='; do
  grep -qF "$text" "$log" || fail "no '$text': $(cat "$log")"
done
cp "$scratch/fingerprint" "$fingerprint"
cmake --build "$scratch/plugin/build" > "$log" 2>&1 || fail "$(cat "$log")"
expect " 8 ok" "$prefix/bin/s2s-run" plugin check "$plugin"

# A third party's test asks its component for the promises of the SDK.
mkdir "$scratch/promises"
cat > "$scratch/promises/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.25)
project(promises LANGUAGES CXX)
find_package(s2s 0.2 CONFIG REQUIRED)
add_executable(promises promises.cc)
target_link_libraries(promises PRIVATE s2s::conformance)
END
cat > "$scratch/promises/promises.cc" <<'END'
#include <cstdio>
#include "s2s/conformance.h"
struct Mute : s2s::Tokenizer {
  s2s::SpecialIds ids{0, 1, 2};
  std::vector<int64_t> encode(std::string_view) const override { return {}; }
  std::string decode(const std::vector<int64_t>&) const override { return ""; }
  int64_t vocab_size() const override { return 3; }
  const s2s::SpecialIds& special_ids() const override { return ids; }
  std::string piece(int64_t) const override { return ""; }
};
int main() {
  for (const std::string& answer : s2s::conformance::broken_promises(Mute(), {"hello"}))
    std::puts(answer.c_str());
}
END
cmake "${generator[@]}" -S "$scratch/promises" -B "$scratch/promises/build" \
  -DCMAKE_PREFIX_PATH="$prefix" > "$log" 2>&1 || fail "$(cat "$log")"
cmake --build "$scratch/promises/build" > "$log" 2>&1 || fail "$(cat "$log")"
expect "'hello' is decoded to ''" "$scratch/promises/build/promises"

# A symbol that nobody provides is found when the plugin is linked.
echo 'void absent(); extern "C" void calls_absent() { absent(); }' >> "$scratch/plugin/plugin.cc"
! cmake --build "$scratch/plugin/build" > "$log" 2>&1 || fail "a missing symbol was linked"
grep -q 'absent' "$log" || fail "$(cat "$log")"

# Another LibTorch than the SDK's stops the configuration and names both versions.
mkdir -p "$scratch/torch/include/ATen" "$scratch/torch/include/torch/headeronly"
touch "$scratch/torch/include/ATen/ATen.h"
printf '#define TORCH_VERSION_%s\n' 'MAJOR 1' 'MINOR 13' 'PATCH 0' \
  > "$scratch/torch/include/torch/headeronly/version.h"
if cmake -S "$scratch/plugin" -B "$scratch/plugin/other" \
    -DCMAKE_PREFIX_PATH="$prefix;$scratch/torch" > "$log" 2>&1; then
  fail "another LibTorch was accepted"
fi
grep -q '1\.13\.0' "$log" || fail "$(cat "$log")"
echo "ok: installed, built a plugin outside the tree, listed, inspected and checked it"
