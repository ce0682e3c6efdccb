#pragma once
// A plugin exports a note, which is read before any of its code runs, and one function.
//
//   S2S_PLUGIN("acme_mistral", "0.2.0", "Apache-2.0", "llm:acme.mistral") {
//     registrar.add(acme::component());
//   }

#include <cstdint>

#include "s2s/registry.h"

/// Incremented whenever a public header changes its meaning. The host refuses plugins with another
/// number, and plugins that were compiled with other headers (s2s/sdk_fingerprint.h), because
/// layouts may differ.
#define S2S_PLUGIN_API 2

namespace s2s {

/// The note. It has a fixed size and no pointers, because the host reads it from the file: section
/// ".s2s_plugin".
struct PluginNote {
  char magic[8];      // "S2SPLUG"
  uint32_t size;      // size of this struct
  uint32_t api;       // S2S_PLUGIN_API; must be equal
  char torch[24];     // LibTorch's version; must be equal
  char cxx[48];       // C++ library, its ABI and the headers; must be equal
  char compiler[32];  // shown only
  char cuda[16];      // CUDA major.minor, or ""; majors must be equal when both have one
  char build[16];     // release or debug; shown only
  char name[32];
  char version[16];
  char license[24];
  char origin[96];
  char provides[256];  // "kind:name", one per line
};
static_assert(sizeof(PluginNote) == 576);

}  // namespace s2s

#include "s2s/plugin_note.h"
