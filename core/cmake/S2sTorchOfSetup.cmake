# Where core/setup.sh keeps LibTorch, so that `cmake --preset NAME` needs no -D after it. Only this
# tree asks; CMAKE_PREFIX_PATH and S2S_TORCH_ROOT win (S2sTorch.cmake).

set(deps "$ENV{S2S_DEPS_DIR}")
if(NOT deps AND DEFINED ENV{XDG_CACHE_HOME})
  set(deps "$ENV{XDG_CACHE_HOME}/s2s")
elseif(NOT deps)
  set(deps "$ENV{HOME}/.cache/s2s")
endif()
file(STRINGS core/setup.sh version REGEX "^torch_version=")
string(REPLACE "torch_version=" "" version "${version}")
file(GLOB found "${deps}/torch-${version}-cuda/lib/python3*/site-packages/torch"
  "${deps}/torch-${version}-cpu/lib/python3*/site-packages/torch")
list(APPEND found "")
list(GET found 0 S2S_TORCH_DEFAULT)
