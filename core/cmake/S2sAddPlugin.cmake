# s2s_add_plugin(NAME KIND kind SOURCES file... [LIBRARIES target...] [ORIGIN url])
#
# Builds lib s2s_<kind>_<name>.so with exactly two visible symbols: the note and the
# registration function. The same function serves plugins in this tree and outside it.

set(S2S_PLUGIN_EXPORTS "${CMAKE_CURRENT_LIST_DIR}/plugin_exports.map")

function(s2s_add_plugin name)
  cmake_parse_arguments(arg "" "KIND;ORIGIN" "SOURCES;LIBRARIES" ${ARGN})
  if(NOT arg_KIND OR NOT arg_SOURCES)
    message(FATAL_ERROR "s2s_add_plugin(${name}): KIND and SOURCES are needed")
  endif()
  set(target s2s_${arg_KIND}_${name})
  add_library(${target} MODULE ${arg_SOURCES})
  set_target_properties(${target} PROPERTIES PREFIX lib)
  if(S2S_PLUGIN_OUTPUT_DIRECTORY)
    set_target_properties(${target} PROPERTIES
      LIBRARY_OUTPUT_DIRECTORY "${S2S_PLUGIN_OUTPUT_DIRECTORY}"
      INSTALL_RPATH "$ORIGIN/../..;${S2S_TORCH_RPATH}")
  endif()
  target_link_libraries(${target} PRIVATE s2s::core ${arg_LIBRARIES})
  if(TARGET s2s_compile_settings)
    target_link_libraries(${target} PRIVATE s2s_compile_settings)
  endif()
  if(TARGET s2s_pch)
    s2s_uses_operators(needs_operators ${arg_SOURCES})
    if(needs_operators)
      target_precompile_headers(${target} REUSE_FROM s2s_pch)
    else()
      target_precompile_headers(${target} REUSE_FROM s2s_pch_light)
    endif()
  endif()
  if(arg_ORIGIN)
    target_compile_definitions(${target} PRIVATE S2S_PLUGIN_ORIGIN="${arg_ORIGIN}")
  endif()
  target_link_options(${target} PRIVATE
    -Wl,--version-script=${S2S_PLUGIN_EXPORTS} -Wl,--exclude-libs,ALL)
  set_target_properties(${target} PROPERTIES LINK_DEPENDS "${S2S_PLUGIN_EXPORTS}")
endfunction()
