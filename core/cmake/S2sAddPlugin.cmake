# s2s_add_plugin(NAME KIND kind SOURCES file... [LIBRARIES target...] [ORIGIN url]
#                [NO_INSTALL])
#
# Builds libs2s_<kind>_<name>.so with exactly two visible symbols: the note and the
# registration function. The same function serves plugins in this tree and outside it.
# `cmake --install` puts the plugin into lib/s2s/plugins of the prefix.

set(S2S_PLUGIN_EXPORTS "${CMAKE_CURRENT_LIST_DIR}/plugin_exports.map")

function(s2s_add_plugin name)
  cmake_parse_arguments(arg "NO_INSTALL" "KIND;ORIGIN" "SOURCES;LIBRARIES" ${ARGN})
  if(NOT arg_KIND OR NOT arg_SOURCES)
    message(FATAL_ERROR "s2s_add_plugin(${name}): KIND and SOURCES are needed")
  endif()
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "s2s_add_plugin(${name}): unknown arguments ${arg_UNPARSED_ARGUMENTS}")
  endif()
  set(target s2s_${arg_KIND}_${name})
  add_library(${target} MODULE ${arg_SOURCES})
  set_property(GLOBAL APPEND PROPERTY S2S_PLUGIN_TARGETS ${target})
  set_target_properties(${target} PROPERTIES
    PREFIX lib
    LINK_DEPENDS "${S2S_PLUGIN_EXPORTS}")
  if(TARGET s2s_compile_settings AND NOT arg_NO_INSTALL)
    s2s_set_run_path(${target} "$ORIGIN/../..")  # lib, from lib/s2s/plugins
  else()
    # Two folders up may be anybody's (/tmp, from /tmp/NAME/build): the SDK's own folder instead.
    s2s_set_run_path(${target} "$ORIGIN;$<TARGET_FILE_DIR:s2s::core>")
  endif()
  if(S2S_PLUGIN_OUTPUT_DIRECTORY)
    set_target_properties(${target} PROPERTIES
      LIBRARY_OUTPUT_DIRECTORY "${S2S_PLUGIN_OUTPUT_DIRECTORY}")
  endif()
  target_link_libraries(${target} PRIVATE s2s::core ${arg_LIBRARIES})
  if(TARGET s2s_compile_settings)
    # In this tree: one flag set and shared precompiled headers.
    target_link_libraries(${target} PRIVATE s2s_compile_settings)
    target_precompile_headers(${target} REUSE_FROM s2s_pch)
    s2s_unite(${target})
  else()
    set_target_properties(${target} PROPERTIES
      CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  endif()
  if(arg_ORIGIN)
    target_compile_definitions(${target} PRIVATE S2S_PLUGIN_ORIGIN="${arg_ORIGIN}")
  endif()
  # A symbol that nobody provides is found here and not when a run loads the plugin.
  target_link_options(${target} PRIVATE
    -Wl,--version-script=${S2S_PLUGIN_EXPORTS} -Wl,--exclude-libs,ALL -Wl,-z,defs)
  if(NOT arg_NO_INSTALL)
    install(TARGETS ${target} LIBRARY DESTINATION lib/s2s/plugins COMPONENT plugins)
  endif()
endfunction()
