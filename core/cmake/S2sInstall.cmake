# cmake --install: the program, the library, the plugins (S2sAddPlugin.cmake) and the SDK.

include(CMakePackageConfigHelpers)
set(s2s_package_dir lib/cmake/s2s)

install(TARGETS s2s-run RUNTIME DESTINATION bin)
install(TARGETS s2s_run LIBRARY DESTINATION lib)
install(TARGETS s2s_data s2s_core s2s_conformance EXPORT s2sTargets
  LIBRARY DESTINATION lib ARCHIVE DESTINATION lib)
install(DIRECTORY core/include/s2s DESTINATION include FILES_MATCHING PATTERN "*.h")
install(EXPORT s2sTargets NAMESPACE s2s:: DESTINATION ${s2s_package_dir})

configure_package_config_file(core/cmake/s2sConfig.cmake.in
  "${PROJECT_BINARY_DIR}/s2sConfig.cmake" INSTALL_DESTINATION ${s2s_package_dir})
write_basic_package_version_file("${PROJECT_BINARY_DIR}/s2sConfigVersion.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES
  "${PROJECT_BINARY_DIR}/s2sConfig.cmake" "${PROJECT_BINARY_DIR}/s2sConfigVersion.cmake"
  core/cmake/S2sTorch.cmake core/cmake/S2sAddPlugin.cmake core/cmake/plugin_exports.map
  DESTINATION ${s2s_package_dir})

install(DIRECTORY core/sdk/template core/sdk/template_ci core/sdk/template_project
  DESTINATION share/s2s)
file(GLOB launch_scripts apps/launch/*.sh apps/launch/*.sbatch apps/launch/*.py)
install(PROGRAMS ${launch_scripts} DESTINATION share/s2s/launch)
foreach(folder configs core/docs)
  if(IS_DIRECTORY "${PROJECT_SOURCE_DIR}/${folder}")
    install(DIRECTORY ${folder} DESTINATION share/s2s)
  endif()
endforeach()

# Shell completions and the manual page. The built program writes them, so they are made when
# somebody installs; a program for another machine runs in CMAKE_CROSSCOMPILING_EMULATOR or not.
if(CMAKE_CROSSCOMPILING AND NOT CMAKE_CROSSCOMPILING_EMULATOR)
  message(STATUS "No completions and no manual page: s2s-run cannot run on this machine")
  return()
endif()
foreach(place
    "bash share/bash-completion/completions s2s-run"
    "zsh share/zsh/site-functions _s2s-run"
    "fish share/fish/vendor_completions.d s2s-run.fish"
    "man share/man/man1 s2s-run.1")
  string(REPLACE " " ";" place "${place}")
  list(GET place 0 text)
  list(GET place 1 folder)
  list(GET place 2 name)
  set(file "${PROJECT_BINARY_DIR}/completion/${text}/${name}")
  file(MAKE_DIRECTORY "${PROJECT_BINARY_DIR}/completion/${text}")
  install(CODE "
    execute_process(
      COMMAND ${CMAKE_CROSSCOMPILING_EMULATOR} \"$<TARGET_FILE:s2s-run>\" completion ${text}
      OUTPUT_FILE \"${file}\" COMMAND_ERROR_IS_FATAL ANY)")
  install(FILES "${file}" DESTINATION ${folder})
endforeach()
