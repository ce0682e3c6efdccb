#pragma once
// Macros that S2S_PLUGIN uses to fill the note. Do not use them directly.

#include <torch/headeronly/version.h>

#include "s2s/sdk_fingerprint.h"

#define S2S_NOTE_TEXT_(x) #x
#define S2S_NOTE_TEXT(x) S2S_NOTE_TEXT_(x)

#ifndef S2S_TORCH_VERSION_TEXT
#define S2S_TORCH_VERSION_TEXT       \
  S2S_NOTE_TEXT(TORCH_VERSION_MAJOR) \
  "." S2S_NOTE_TEXT(TORCH_VERSION_MINOR) "." S2S_NOTE_TEXT(TORCH_VERSION_PATCH)
#endif

#if defined(_GLIBCXX_DEBUG)
#define S2S_NOTE_STL_DEBUG "1"
#else
#define S2S_NOTE_STL_DEBUG "0"
#endif
#define S2S_CXX_ABI_TEXT                                                                   \
  "libstdc++ cxx11abi=" S2S_NOTE_TEXT(_GLIBCXX_USE_CXX11_ABI) " debug=" S2S_NOTE_STL_DEBUG \
                                                              " sdk=" S2S_SDK_FINGERPRINT

#if defined(__clang__)
#define S2S_COMPILER_TEXT "Clang " S2S_NOTE_TEXT(__clang_major__)
#else
#define S2S_COMPILER_TEXT "GCC " S2S_NOTE_TEXT(__GNUC__) "." S2S_NOTE_TEXT(__GNUC_MINOR__)
#endif

#ifndef S2S_CUDA_TEXT
#define S2S_CUDA_TEXT ""
#endif

#ifdef NDEBUG
#define S2S_BUILD_TEXT "release"
#else
#define S2S_BUILD_TEXT "debug"
#endif

#ifndef S2S_PLUGIN_ORIGIN
#define S2S_PLUGIN_ORIGIN ""
#endif

#define S2S_PLUGIN_SECTION __attribute__((used, section(".s2s_plugin"), visibility("default")))

/// Arguments: name, version, SPDX license, and the provided components ("kind:name", joined by
/// "\n").
#define S2S_PLUGIN(plugin_name, plugin_version, plugin_license, plugin_provides) \
  extern "C" S2S_PLUGIN_SECTION const ::s2s::PluginNote s2s_plugin_note_v1 = {   \
      "S2SPLUG",        sizeof(::s2s::PluginNote),                               \
      S2S_PLUGIN_API,   S2S_TORCH_VERSION_TEXT,                                  \
      S2S_CXX_ABI_TEXT, S2S_COMPILER_TEXT,                                       \
      S2S_CUDA_TEXT,    S2S_BUILD_TEXT,                                          \
      plugin_name,      plugin_version,                                          \
      plugin_license,   S2S_PLUGIN_ORIGIN,                                       \
      plugin_provides};                                                          \
  extern "C" __attribute__((visibility("default"))) void s2s_plugin_register(    \
      [[maybe_unused]] ::s2s::Registrar& registrar)
