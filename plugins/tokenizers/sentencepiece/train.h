#pragma once

#include <string>
#include <vector>

#include "tokenizer_options.h"

namespace s2s::sentencepiece_plugin {

/// Texts of `input` (a file or a list of files, relative ones beside `base_dir`): the lines of a
/// text file, the turns of cuts. Errors: [tokenizer/training-input], those of read_cuts.
std::vector<std::string> read_texts(const Config& input, const std::string& place,
                                    const std::string& base_dir);

/// Makes a model (unknown 0, BOS 1, EOS 2, PAD 3) and writes it to `path` whole or not at all.
/// Errors: [tokenizer/training], [tokenizer/cannot-write].
void train_model(const std::vector<std::string>& texts, const TrainOptions& options,
                 const std::string& place, const std::string& path);

}  // namespace s2s::sentencepiece_plugin
