#pragma once
// Keys of NeMo speechlm2's `model` block that have another place or no effect here.

#include <string>

#include "config/config_notes.h"
#include "s2s/config.h"

namespace s2s::run {

/// Moves NeMo's keys of any model: texts of special tokens to the tokenizer, `source_sample_rate`
/// to `data`, options of LoRA to PEFT's names. Removes those without effect. `type`: the model's
/// kind. Adds a note for each.
void move_nemo_keys(Config& config, const std::string& type, ConfigNotes& notes);

/// Reads the parts of a DuplexEARTTS: its codec, the tokenizer of pretrained_lm_name where that is
/// a folder of this machine, and the options of its generation and prompt. Adds a note for each.
void read_nemo_eartts(Config& config, ConfigNotes& notes);

}  // namespace s2s::run
