#pragma once
// Reads what is written for Hugging Face's transformers and PEFT.

#include <string>
#include <vector>

#include "config/config_notes.h"
#include "s2s/config.h"
#include "s2s/error.h"

namespace s2s::interop {

/// Sets `model.llm.name` when only a path is given: the longest of `families` that is a prefix of
/// the model_type in config.json. Throws [weights/config] when no family reads that model_type.
void name_language_model(Config& config, const std::vector<std::string>& families,
                         Findings& findings, ConfigNotes& notes);

/// Gives `model.lora` without `r` the rank of the adapter that its `path` names, with lora_alpha
/// and target_modules where they are missing, or PEFT's default.
void complete_lora(Config& config, Findings& findings, ConfigNotes& notes);

}  // namespace s2s::interop
