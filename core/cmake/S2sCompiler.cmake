# Compiler settings for our own code: warnings, sanitizers, ccache, mold.

add_library(s2s_compile_settings INTERFACE)
target_compile_options(s2s_compile_settings INTERFACE
  -Wall -Wextra -Wpedantic -Wconversion $<IF:$<CXX_COMPILER_ID:GNU>,-Wshadow=local,-Wshadow>
  -Wnon-virtual-dtor -Winvalid-pch
  -Wno-missing-field-initializers)
if(S2S_WARNINGS_AS_ERRORS)
  target_compile_options(s2s_compile_settings INTERFACE -Werror)
endif()

set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")

# One flag set for every target, so that all share one precompiled header.
add_compile_options(-fPIC)

if(S2S_SANITIZE)
  set(CMAKE_CXX_FLAGS_RELEASE "-O1 -DNDEBUG")
  add_compile_options(-fsanitize=${S2S_SANITIZE} -fno-omit-frame-pointer -g1)
  if(S2S_SANITIZE MATCHES undefined)
    # These three more than double the time to compile; `address` meets a null pointer as well.
    add_compile_options(-fno-sanitize=null,alignment,vptr)
  endif()
  add_link_options(-fsanitize=${S2S_SANITIZE})
endif()

find_program(S2S_CCACHE ccache)
if(S2S_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # base_dir and hash_dir make the cache serve every clone; the sloppiness is what
  # ccache asks for when precompiled headers are used.
  set(CMAKE_CXX_COMPILER_LAUNCHER
    ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1
    CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
    ${S2S_CCACHE})
  add_compile_options(-fpch-preprocess)
endif()

# Nothing is linked again because a shared library behind it has changed: what is needed of one is
# looked up when the program starts.
set(CMAKE_LINK_DEPENDS_NO_SHARED ON)

find_program(S2S_MOLD mold)
if(S2S_MOLD)
  add_link_options(-fuse-ld=mold)
endif()

# Sets `result` when one of the files calls ATen's operators, hence includes them.
function(s2s_uses_operators result)
  set(${result} FALSE PARENT_SCOPE)
  foreach(source ${ARGN})
    file(STRINGS ${source} includes REGEX "^#include <(ATen/(ATen|Functions)\\.h|torch/)")
    if(includes)
      set(${result} TRUE PARENT_SCOPE)
    endif()
  endforeach()
endfunction()
