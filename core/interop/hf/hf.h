#pragma once
// Reads keys of Hugging Face's transformers and PEFT.

#include <string>
#include <vector>

#include "config/config_notes.h"
#include "s2s/config.h"
#include "s2s/error.h"

namespace s2s::interop {

/// Sets `model.llm.name` if only a path is given: the longest of `families` that is a prefix of
/// model_type in config.json. Throws [weights/config] if no family reads that model_type.
void name_language_model(Config& config, const std::vector<std::string>& families,
                         Findings& findings, ConfigNotes& notes);

/// Completes a `model.lora` without `r` from the adapter at its `path`: rank, and missing
/// lora_alpha and target_modules. Without an adapter, PEFT's default.
void complete_lora(Config& config, Findings& findings, ConfigNotes& notes);

}  // namespace s2s::interop
