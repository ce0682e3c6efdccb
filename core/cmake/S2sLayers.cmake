# s2s_add_layers(LIST OBJECTS): the rooms of core as targets, from core/layers.txt.
#
# Each room is an object library. Its compiler sees the headers of its own layer and of those below,
# so that an include from above does not compile; within a layer the lint keeps the order. Sets
# OBJECTS to all objects, and S2S_CORE_INCLUDES to the folders of all layers, for programs and tests
# inside of the project.

function(s2s_add_layers list objects)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${list}")
  set(includes "${CMAKE_CURRENT_SOURCE_DIR}/include")
  set(all "")
  file(STRINGS "${list}" lines REGEX "^[a-z]")
  foreach(line ${lines})
    if(line MATCHES "^headers")
      continue()
    endif()
    string(REGEX MATCH "^([a-z]+) ([a-z_/]+):" matched "${line}")
    set(layer "${CMAKE_MATCH_1}")
    set(room "${CMAKE_MATCH_2}")
    set(root "${CMAKE_CURRENT_SOURCE_DIR}/${layer}")
    if(NOT root IN_LIST includes)
      list(APPEND includes "${root}")
    endif()
    file(GLOB sources CONFIGURE_DEPENDS "${root}/${room}/*.cc")
    list(FILTER sources EXCLUDE REGEX "precompiled\\.cc$")
    string(REPLACE "/" "_" name "core_${layer}_${room}")
    add_library(${name} OBJECT ${sources})
    target_include_directories(${name} PRIVATE ${includes})
    target_include_directories(${name} SYSTEM PRIVATE ${S2S_JSON_INCLUDE})
    target_link_libraries(${name} PRIVATE s2s::torch s2s_compile_settings ${S2S_CORE_LIBRARIES})
    target_precompile_headers(${name} REUSE_FROM s2s_pch)
    s2s_unite(${name})
    list(APPEND all $<TARGET_OBJECTS:${name}>)
  endforeach()
  set(${objects} ${all} PARENT_SCOPE)
  list(REMOVE_AT includes 0)  # the SDK's, which s2s::core brings
  set(S2S_CORE_INCLUDES ${includes} CACHE INTERNAL "folders of core's layers")
endfunction()
