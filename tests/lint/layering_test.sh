#!/bin/bash
# usage: layering_test.sh SOURCE_DIR
# Checks who may name and include whom (core/docs/internals/plugin_host.md, "Layers"). Inside of
# core layers_test.py does, and plugin_names_test.py looks for the names of plugins in core.
set -uo pipefail
cd "$1" || exit 2
failed=0

# complain RULE FINDINGS: one finding a line; none is fine.
complain() {
  [ -z "$2" ] && return
  echo "$1:"
  echo "$2" | sed 's/^/  /'
  failed=1
}

# Plugins see the SDK, their own files and third-party libraries; never core's rooms or each other.
rooms=$(sed -nE 's|^[a-z]+ ([a-z_/]+):.*|\1|p' core/layers.txt | grep -v ' ' | paste -sd '|')
kinds=$(find plugins -mindepth 1 -maxdepth 1 -type d -printf '%f\n' | paste -sd '|')
complain "a plugin includes one of core's rooms" \
  "$(grep -rnE "#include [\"<](core/|($rooms)/)" plugins --include='*.h' --include='*.cc')"
complain "a plugin includes another plugin" \
  "$(grep -rnE "#include \"(\.\./|plugins/|($kinds)/)" plugins --include='*.h' --include='*.cc')"
complain "a plugin links another plugin or core's inside" \
  "$(grep -rnE \
    "LIBRARIES[^)]*s2s_|S2S_CORE_INCLUDES|core/(foundation|data|model|interop|training)" \
    plugins --include=CMakeLists.txt)"

# The SDK's headers name only the standard library, LibTorch and each other.
complain "a public header mentions a library that the SDK hides" \
  "$(grep -rniE 'yaml-cpp|boost|nccl|cli11|CLI/|nlohmann|fmt/|spdlog|sndfile' core/include)"
complain "a public header includes something else than std, LibTorch and s2s/" \
  "$(grep -rnE '#include "' core/include | grep -v '#include "s2s/')"
complain "a public header has 'using namespace'" "$(grep -rn 'using namespace' core/include)"

# The loop knows neither how a model is split nor by what.
trainer=$(ls core/training/train/{trainer,step_,bad_step_keeper,run_events}*)
complain "the trainer names a parallel layout" "$(grep -niwE \
  'ddp|fsdp\w*|zero|shard\w*|\w*tensor_parallel\w*|sequence_parallel|nccl|gloo|lora|all_reduce' \
  $trainer)"

# No registries of their own: a static object whose constructor registers itself.
complain "a global registry" "$(grep -rnE '^static .*Regist(ry|rar|erer)\b' core plugins apps)"

[ $failed -eq 0 ] && echo "ok: layers"
exit $failed
