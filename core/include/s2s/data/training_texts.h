#pragma once
// What tokenizer plugins share that make a vocabulary from texts.

#include <string>
#include <string_view>
#include <vector>

#include "s2s/config.h"
#include "s2s/data/fingerprint.h"

namespace s2s {

/// Texts of `input` (a file or a list of files, relative ones beside `base_dir`): the lines of a
/// text file, the turns of cuts (.jsonl, .jsonl.gz), each as clean_text leaves it; no empty ones.
/// `place` names the tokenizer's options in messages.
/// Errors: [tokenizer/training-input], those of read_cuts.
std::vector<std::string> read_training_texts(const Config& input, const std::string& place,
                                             const std::string& base_dir);

/// Writes a tokenizer's file, and its folder, whole or not at all.
/// Errors: [tokenizer/cannot-write].
void write_tokenizer_file(const std::string& path, std::string_view bytes);

}  // namespace s2s
