# s2s_unite(target [FILES]): compiles the sources of a folder together, some files at a time.
#
# Most of the time of a small file goes into the headers in front of it, which a group reads once. A
# group holds at most FILES files of one folder, in the order of their names; a folder with more has
# several groups of about one count. Groups depend on the names alone: what compiles in one clone
# compiles in every other one, also after files have grown. Files of a group share a name space: no
# two of them may have a helper of one name. `-DS2S_UNITY=OFF` compiles each file on its own; preset
# `dev` does, and finds an include that is missing.
#
# The file of a group names its sources relative to itself, and not by the folder of the clone, as
# CMake's own UNITY_BUILD does: then every clone takes it out of the compiler cache.

option(S2S_UNITY "compile the sources of a folder together, some at a time" ON)
set(S2S_UNITY_FILES 16)

# Sets `into` to the number of files that each group of the sources in `folder` should have.
function(s2s_group_files into folder limit)
  set(count 0)
  foreach(source ${ARGN})
    get_filename_component(its_folder "${source}" DIRECTORY)
    if(its_folder STREQUAL folder)
      math(EXPR count "${count} + 1")
    endif()
  endforeach()
  math(EXPR groups "(${count} + ${limit} - 1) / ${limit}")
  math(EXPR files "(${count} + ${groups} - 1) / ${groups}")
  set(${into} ${files} PARENT_SCOPE)
endfunction()

# Writes the file of a group, when its text is a new one.
function(s2s_write_group path)
  get_filename_component(folder "${path}" DIRECTORY)
  set(text "")
  foreach(source ${ARGN})
    file(RELATIVE_PATH relative "${folder}" "${source}")
    string(APPEND text "#include \"${relative}\"\n")
  endforeach()
  file(CONFIGURE OUTPUT "${path}" CONTENT "${text}" @ONLY)
endfunction()

function(s2s_unite target)
  if(NOT S2S_UNITY)
    return()
  endif()
  set(limit ${S2S_UNITY_FILES})
  if(ARGN)
    set(limit ${ARGN})
  endif()
  get_target_property(sources ${target} SOURCES)
  get_target_property(directory ${target} SOURCE_DIR)
  list(TRANSFORM sources PREPEND "${directory}/" REGEX "^[^/$]")
  list(SORT sources)
  set(compiled "")
  set(last "")
  set(group "")
  foreach(source ${sources})
    # Generated, or objects. A generated file that an earlier build has left is no member either:
    # in a group, nothing would ask for it, and it would stay as it is.
    string(FIND "${source}" "${PROJECT_BINARY_DIR}/" generated)
    if(NOT EXISTS "${source}" OR generated EQUAL 0)
      list(APPEND compiled "${source}")
      continue()
    endif()
    get_filename_component(folder "${source}" DIRECTORY)
    if(NOT folder STREQUAL last OR count GREATER_EQUAL group_files)
      if(group)
        s2s_write_group("${group}" ${members})
      endif()
      get_filename_component(name "${source}" NAME_WE)
      get_filename_component(room "${folder}" NAME)
      set(group "${PROJECT_BINARY_DIR}/unity/${target}/${room}_${name}.cc")
      list(APPEND compiled "${group}")
      set(members "")
      if(NOT folder STREQUAL last)
        s2s_group_files(group_files "${folder}" ${limit} ${sources})
      endif()
      set(last "${folder}")
      set(count 0)
    endif()
    math(EXPR count "${count} + 1")
    list(APPEND members "${source}")
  endforeach()
  if(group)
    s2s_write_group("${group}" ${members})
  endif()
  set_target_properties(${target} PROPERTIES SOURCES "${compiled}")
endfunction()
