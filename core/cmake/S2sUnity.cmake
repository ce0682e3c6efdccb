# s2s_unite(target): compiles the sources of a folder together, some files at a time.
#
# Most of the time of a small file goes into the headers in front of it, which a group reads once. A
# group holds files of one folder, in the order of their names, up to S2S_UNITY_BYTES. Files of a
# group share a name space: no two of them may have a helper of one name. `-DS2S_UNITY=OFF` compiles
# each file on its own; preset `dev` does, and finds an include that is missing.

option(S2S_UNITY "compile the sources of a folder together, some at a time" ON)
set(S2S_UNITY_BYTES 48000)

function(s2s_unite target)
  if(NOT S2S_UNITY)
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  get_target_property(directory ${target} SOURCE_DIR)
  list(FILTER sources EXCLUDE REGEX "\\$<")
  list(TRANSFORM sources PREPEND "${directory}/" REGEX "^[^/]")
  list(SORT sources)
  set(last "")
  foreach(source ${sources})
    if(NOT EXISTS "${source}")  # generated
      continue()
    endif()
    get_filename_component(folder "${source}" DIRECTORY)
    file(SIZE "${source}" size)
    math(EXPR total "${total} + ${size}")
    if(NOT folder STREQUAL last OR total GREATER S2S_UNITY_BYTES)
      get_filename_component(name "${source}" NAME_WE)
      get_filename_component(room "${folder}" NAME)
      set(group "${room}_${name}")
      set(last "${folder}")
      set(total ${size})
    endif()
    set_property(SOURCE "${source}" TARGET_DIRECTORY ${target} PROPERTY UNITY_GROUP "${group}")
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endfunction()
