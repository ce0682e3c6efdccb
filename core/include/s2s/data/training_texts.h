#pragma once
// Functions for tokenizer plugins that train a vocabulary on texts.

#include <string>
#include <string_view>
#include <vector>

#include "s2s/config.h"
#include "s2s/data/fingerprint.h"

namespace s2s {

/// Reads the texts of `input`, a file or a list of files (relative to `base_dir`): the lines of a
/// text file, or the turns of cuts (.jsonl, .jsonl.gz). Each text is cleaned with clean_text; empty
/// ones are dropped. `place` names the tokenizer's options in messages.
/// Errors: [tokenizer/training-input], those of read_cuts.
std::vector<std::string> read_training_texts(const Config& input, const std::string& place,
                                             const std::string& base_dir);

/// Records beside the tokenizer's file `path` which texts it was made of (`path`.texts.json). Does
/// nothing where that cannot be written.
void record_training_texts(const std::string& path, const Config& input,
                           const std::string& base_dir);

/// A warning if the tokenizer's file `path` was made of other texts than `input` names now: it is
/// used as it is. "" if they have the same content, if nothing was recorded, or if the files of
/// `input` are not there. `place` names the tokenizer's options.
std::string other_training_texts(const std::string& path, const Config& input,
                                 const std::string& place, const std::string& base_dir);

/// Writes a tokenizer's file atomically, and creates its folder.
/// Errors: [tokenizer/cannot-write].
void write_tokenizer_file(const std::string& path, std::string_view bytes);

}  // namespace s2s
