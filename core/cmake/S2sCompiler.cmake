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

# One flag set for every target, so that all share one precompiled header. GCC's own garbage
# collector would walk the 400 MB of that header again and again; without it a compilation takes
# less time and a tenth more memory.
add_compile_options(-fPIC $<$<CXX_COMPILER_ID:GNU>:--param=ggc-min-heapsize=700000>)

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
    CCACHE_PCH_EXTSUM=1
    ${S2S_CCACHE})
  add_compile_options(-fpch-preprocess)
endif()

# s2s_precompile(TARGET HEADER...): TARGET carries precompiled headers that others reuse. Two
# compilations of one header differ by some bytes, and the cache knows objects by those bytes: so it
# must find the header, which it does when no older one lies in its place.
function(s2s_precompile target)
  target_precompile_headers(${target} PRIVATE ${ARGN})
  if(CMAKE_CXX_COMPILER_LAUNCHER)
    set_target_properties(${target} PROPERTIES CXX_COMPILER_LAUNCHER
      "sh;${CMAKE_CURRENT_FUNCTION_LIST_DIR}/precompile.sh;${CMAKE_CXX_COMPILER_LAUNCHER}")
  endif()
endfunction()

# s2s_cold(TARGET): what runs seldom, and computes little: commands, messages, checks. GCC compiles
# it in two thirds of the time with -O1. It has precompiled headers of its own (s2s_cold_pch),
# because GCC takes the level of optimization from the headers.
set(S2S_COLD_OPTIONS $<$<CONFIG:Release>:-O1> $<$<CONFIG:Release>:-finline-small-functions>)
function(s2s_cold target)
  target_compile_options(${target} PRIVATE ${S2S_COLD_OPTIONS})
  target_precompile_headers(${target} REUSE_FROM s2s_cold_pch)
endfunction()

# Nothing is linked again because a shared library behind it has changed: what is needed of one is
# looked up when the program starts.
set(CMAKE_LINK_DEPENDS_NO_SHARED ON)

find_program(S2S_MOLD mold)
if(S2S_MOLD)
  add_link_options(-fuse-ld=mold)
endif()
