#pragma once
// Keys of NeMo speechlm2's `model` block that move or have no effect here.

#include "s2s/foreign_class.h"

namespace s2s::interop {

/// Moves keys of any NeMo model: texts of special tokens to the tokenizer, `source_sample_rate` to
/// `data`, LoRA options to PEFT's names. Removes keys without effect.
void take_nemo_keys(ConfigTranslation& translation);
/// The rows of these keys.
ForeignKeys nemo_model_keys();

}  // namespace s2s::interop
