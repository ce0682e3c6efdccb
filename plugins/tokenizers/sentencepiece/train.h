#pragma once

#include <string>
#include <vector>

#include "sentencepiece_options.h"

namespace s2s::sentencepiece_plugin {

/// Trains a model (unknown 0, BOS 1, EOS 2, PAD 3) and writes it to `path` atomically.
/// Errors: [tokenizer/training], [tokenizer/cannot-write].
void train_model(const std::vector<std::string>& texts, const TrainOptions& options,
                 const std::string& place, const std::string& path);

}  // namespace s2s::sentencepiece_plugin
