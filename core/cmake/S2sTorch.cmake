# Defines the imported target s2s::torch: the CPU half of LibTorch.
#
# Only libtorch_cpu and libc10 are linked. The CUDA half is opened at run time when a
# run asks for a GPU, so one build serves machines with and without a CUDA toolkit, and
# commands that need no GPU start fast (decision record 0006).
#
# A LibTorch in CMAKE_PREFIX_PATH wins; else S2S_TORCH_ROOT (core/setup.sh passes it); else, in an
# installed SDK, the LibTorch it was built with (S2S_TORCH_DEFAULT).

find_path(S2S_TORCH_ROOT
  NAMES include/ATen/ATen.h
  HINTS ${CMAKE_PREFIX_PATH} ENV CMAKE_PREFIX_PATH
  PATHS "${S2S_TORCH_DEFAULT}"
  PATH_SUFFIXES torch
  DOC "folder with LibTorch's include and lib"
  NO_CMAKE_SYSTEM_PATH)
if(NOT S2S_TORCH_ROOT)
  message(FATAL_ERROR
    "LibTorch was not found. Run 'bash core/setup.sh', or give its folder:\n"
    "  cmake ... -DCMAKE_PREFIX_PATH=<folder with include/ATen and lib>")
endif()

foreach(part MAJOR MINOR PATCH)
  file(STRINGS "${S2S_TORCH_ROOT}/include/torch/headeronly/version.h" line
    REGEX "#define TORCH_VERSION_${part} ")
  string(REGEX REPLACE ".*TORCH_VERSION_${part} +([0-9]+).*" "\\1" S2S_TORCH_${part} "${line}")
endforeach()
set(S2S_TORCH_VERSION "${S2S_TORCH_MAJOR}.${S2S_TORCH_MINOR}.${S2S_TORCH_PATCH}")
message(STATUS "LibTorch ${S2S_TORCH_VERSION} in ${S2S_TORCH_ROOT}")

# The wheel keeps CUDA's runtime in a sibling folder; libtorch_cpu.so names it.
get_filename_component(s2s_site_packages "${S2S_TORCH_ROOT}" DIRECTORY)
file(GLOB S2S_TORCH_RUNTIME_DIRS "${s2s_site_packages}/nvidia/*/lib")

add_library(s2s::torch SHARED IMPORTED GLOBAL)
set_target_properties(s2s::torch PROPERTIES
  IMPORTED_LOCATION "${S2S_TORCH_ROOT}/lib/libtorch_cpu.so"
  IMPORTED_LINK_DEPENDENT_LIBRARIES "")
target_include_directories(s2s::torch SYSTEM INTERFACE
  "${S2S_TORCH_ROOT}/include" "${S2S_TORCH_ROOT}/include/torch/csrc/api/include")
target_link_libraries(s2s::torch INTERFACE "${S2S_TORCH_ROOT}/lib/libc10.so")
target_link_options(s2s::torch INTERFACE -Wl,--allow-shlib-undefined)
set(CMAKE_BUILD_RPATH "${S2S_TORCH_ROOT}/lib;${S2S_TORCH_RUNTIME_DIRS}")
set(S2S_TORCH_RPATH "${CMAKE_BUILD_RPATH}")

# s2s_set_run_path(target folder...): where the loader looks for what `target` needs, in the build
# tree and installed: these folders, LibTorch's, and those of other libraries outside the project.
#
# Both trees have one run path, because CMake pads a run path that it is to replace at the
# installation with ':', and the loader takes an empty element for the current folder: whoever
# started the program in a folder of somebody else's would run the libraries that lie there.
function(s2s_set_run_path target)
  set_target_properties(${target} PROPERTIES
    INSTALL_RPATH "${ARGN};${S2S_TORCH_RPATH}"
    INSTALL_RPATH_USE_LINK_PATH ON
    BUILD_WITH_INSTALL_RPATH ON)
endfunction()
