#pragma once
// Keys of NeMo speechlm2's `model` block that have another place or no effect here.

#include "s2s/foreign_class.h"

namespace s2s::interop {

/// Moves NeMo's keys of any model: texts of special tokens to the tokenizer, `source_sample_rate`
/// to `data`, options of LoRA to PEFT's names. Removes those without effect.
void take_nemo_keys(ConfigTranslation& translation);
/// The rows of these keys.
ForeignKeys nemo_model_keys();

}  // namespace s2s::interop
