# shellcheck shell=bash
# shellcheck disable=SC2154  # variables of apps/package.sh
# The Debian package. Debian has no LibTorch of this version: `s2s-torch install` installs the torch
# package into /opt/s2s/venv, and the link /opt/s2s/site points to it. Part of apps/package.sh.

# The packages of the libraries that the files need, as dpkg-shlibdeps computes them.
needed_packages() {  # needed_packages ROOT
  local excluded=() file library
  mkdir -p "$scratch/shlibdeps/debian"
  printf 'Source: s2s\n\nPackage: s2s\nArchitecture: any\n' > "$scratch/shlibdeps/debian/control"
  for library in "$torch_root/lib" "$(dirname "$torch_root")"/nvidia/*/lib; do
    excluded+=("-l$library")
  done
  elf_files "$1" > "$scratch/elf_files"
  mapfile -t elf < "$scratch/elf_files"
  # LibTorch belongs to no Debian package, so its part of the output is empty.
  (cd "$scratch/shlibdeps" && dpkg-shlibdeps -O --ignore-missing-info "${excluded[@]}" \
    "-l$1/opt/s2s/lib" "${elf[@]}" 2> "$scratch/shlibdeps.log") | sed -n 's/^shlibs:Depends=//p'
}

control() {  # control DEPENDS INSTALLED_KB
  cat << TEXT
Package: s2s
Version: $version-1
Architecture: $(dpkg --print-architecture)
Maintainer: the s2s project <s2s@localhost>
Section: science
Priority: optional
Installed-Size: $2
Depends: $1, python3, python3-venv
Recommends: pocketsphinx, pocketsphinx-en-us
Suggests: cmake, g++, ninja-build
Description: trains duplex speech-to-speech language models
 The program s2s-run with its plugins, and the SDK for plugins of one's own.
 .
 LibTorch $torch_version is not in this package: run 's2s-torch install' after installing it.
TEXT
}

make_deb() {
  local package=$scratch/deb prefix=$scratch/deb/opt/s2s file depends size
  require_tools dpkg-dev dpkg-deb dpkg-shlibdeps
  say "deb: installing the build tree"
  make_tree "$prefix" site
  mkdir -p "$package/DEBIAN" "$package/usr/bin" "$package/usr/share/doc/s2s"
  cp "$root/LICENSE" "$package/usr/share/doc/s2s/copyright"
  add_header_licenses "$package/usr/share/doc/s2s"
  for file in s2s-run s2s-torch; do
    sed "s/@TORCH_VERSION@/$torch_version/; s/@CUDA_PACKAGES@/$(cuda_packages)/" \
      "$parts/debian/$file" > "$package/usr/bin/$file"
  done
  cp "$parts"/debian/p* "$package/DEBIAN/"
  depends=$(needed_packages "$package") || true
  [ -n "$depends" ] ||
    fail shlibs "dpkg-shlibdeps, no answer ($(tail -1 "$scratch/shlibdeps.log")), expected the\
 packages of all libraries, install dpkg-dev on the system that built s2s"
  size=$(du -sk --apparent-size "$package" | cut -f1)
  control "$depends" "$size" > "$package/DEBIAN/control"
  chmod -R u=rwX,go=rX "$package"
  chmod 755 "$package"/usr/bin/* "$package"/DEBIAN/p* "$prefix/bin/s2s-run"
  file=s2s_$version-1_$(dpkg --print-architecture).deb
  dpkg-deb --root-owner-group -Zxz --build "$package" "$out/$file" > "$scratch/deb.log" 2>&1 ||
    fail deb "dpkg-deb --build, it failed: $(tail -1 "$scratch/deb.log"), expected $file, see\
 above"
  say "deb: depends on $depends"
  made+=("$file|$(du -sh --apparent-size "$package" | cut -f1)")
}
