#pragma once
// Reads NeMo's YAML of a training of a speech recognizer.

#include <vector>

#include "s2s/foreign_class.h"

namespace s2s::asr {

/// NeMo's recognizers with a tokenizer of pieces of words.
std::vector<ForeignClass> foreign_classes();

}  // namespace s2s::asr
