# Text files inside the program.
#
#   s2s_embed_text(core_sources FUNCTION report_file HEADER eval/report_files.h FILES a.css b.js)
#
# appends a generated source to the list; it defines `std::string_view FUNCTION(name)`.
# The same file is the script that generates it at build time.

if(CMAKE_SCRIPT_MODE_FILE)
  set(cases "")
  foreach(file ${S2S_EMBED_FILES})
    get_filename_component(name "${file}" NAME)
    file(READ "${file}" text)
    string(APPEND cases "  if (name == \"${name}\") return R\"S2S_TEXT(${text})S2S_TEXT\";\n")
  endforeach()
  file(WRITE "${S2S_EMBED_OUTPUT}" "\
#include \"${S2S_EMBED_HEADER}\"

#include \"s2s/error.h\"

namespace s2s {

std::string_view ${S2S_EMBED_FUNCTION}(std::string_view name) {
${cases}  S2S_ASSERT(false, \"only embedded files are asked for\");
}

}  // namespace s2s
")
  return()
endif()

set(S2S_EMBED_SCRIPT "${CMAKE_CURRENT_LIST_FILE}")

function(s2s_embed_text sources)
  cmake_parse_arguments(arg "" "FUNCTION;HEADER" "FILES" ${ARGN})
  set(output "${CMAKE_CURRENT_BINARY_DIR}/${arg_FUNCTION}.cc")
  add_custom_command(
    OUTPUT "${output}"
    COMMAND ${CMAKE_COMMAND} "-DS2S_EMBED_OUTPUT=${output}" "-DS2S_EMBED_HEADER=${arg_HEADER}"
      "-DS2S_EMBED_FUNCTION=${arg_FUNCTION}" "-DS2S_EMBED_FILES=${arg_FILES}"
      -P "${S2S_EMBED_SCRIPT}"
    DEPENDS ${arg_FILES} "${S2S_EMBED_SCRIPT}"
    COMMENT "embedding ${arg_FUNCTION}"
    VERBATIM)
  set(${sources} ${${sources}} "${output}" PARENT_SCOPE)
endfunction()
