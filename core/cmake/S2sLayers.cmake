# s2s_add_layers(LIST PREFIX): the rooms of core as targets, from core/layers.txt.
#
# Each room is an object library. Its compiler sees the headers of its own layer and of those below,
# so that an include from above does not compile; within a layer the lint keeps the order. Files of
# S2S_LIGHT_SOURCES, which the launcher links as well, are a second object library of their room.
# Sets PREFIX_LAYER to the objects of each layer, S2S_LIGHT_OBJECTS to those of the light files, and
# S2S_CORE_INCLUDES to the folders of all layers, for programs and tests inside of the project.

# Tensor code at -O2 takes longest to compile: smaller groups, so that a touched file is built soon.
set(S2S_TENSOR_UNITY_FILES 8)

# s2s_add_room(NAME ROOM INCLUDES SOURCE...): an object library; nothing without sources.
function(s2s_add_room name room includes)
  if(NOT ARGN)
    return()
  endif()
  add_library(${name} OBJECT ${ARGN})
  target_include_directories(${name} PRIVATE ${includes})
  target_include_directories(${name} SYSTEM PRIVATE ${S2S_JSON_INCLUDE})
  target_link_libraries(${name} PRIVATE s2s::torch s2s_compile_settings ${S2S_CORE_LIBRARIES})
  if(room IN_LIST S2S_COLD_ROOMS)
    s2s_cold(${name})
  else()
    target_precompile_headers(${name} REUSE_FROM s2s_pch)
    if(name MATCHES "^core_model_")
      set(unity_files ${S2S_TENSOR_UNITY_FILES})
    endif()
  endif()
  s2s_unite(${name} ${unity_files})
endfunction()

function(s2s_add_layers list prefix)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${list}")
  set(includes "${CMAKE_CURRENT_SOURCE_DIR}/include")
  set(all_light "")
  file(STRINGS "${list}" lines REGEX "^[a-z]+ [a-z_/]+:")
  list(FILTER lines EXCLUDE REGEX "^headers")
  foreach(line ${lines})
    string(REGEX MATCH "^([a-z]+) ([a-z_/]+):" matched "${line}")
    set(room "${CMAKE_MATCH_2}")
    set(layer "${CMAKE_MATCH_1}")
    set(root "${CMAKE_CURRENT_SOURCE_DIR}/${layer}")
    string(REPLACE "/" "_" name "core_${layer}_${room}")
    if(NOT root IN_LIST includes)
      list(APPEND includes "${root}")
    endif()
    file(GLOB sources CONFIGURE_DEPENDS "${root}/${room}/*.cc")
    list(FILTER sources EXCLUDE REGEX "precompiled\\.cc$")
    set(light ${S2S_LIGHT_SOURCES})
    list(FILTER light INCLUDE REGEX "^${room}/[a-z_]+$")
    list(TRANSFORM light PREPEND "${root}/")
    list(TRANSFORM light APPEND ".cc")
    if(light)
      list(REMOVE_ITEM sources ${light})
    endif()
    s2s_add_room(${name} ${room} "${includes}" ${sources})
    list(APPEND objects_${layer} $<TARGET_OBJECTS:${name}>)
    s2s_add_room(${name}_light ${room} "${includes}" ${light})
    if(light)
      list(APPEND objects_${layer} $<TARGET_OBJECTS:${name}_light>)
      list(APPEND all_light $<TARGET_OBJECTS:${name}_light>)
    endif()
    set(${prefix}_${layer} ${objects_${layer}} PARENT_SCOPE)
  endforeach()
  set(S2S_LIGHT_OBJECTS "${all_light}" CACHE INTERNAL "objects without LibTorch")
  list(REMOVE_AT includes 0)  # the SDK's, which s2s::core brings
  set(S2S_CORE_INCLUDES ${includes} CACHE INTERNAL "folders of core's layers")
endfunction()
