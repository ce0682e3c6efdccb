#pragma once
// The tokenizer's files of an exported checkpoint.

#include <string>

namespace s2s::run {

/// Copies the tokenizer's files that a checkpoint holds to the folder `output`: regular files of
/// the names that tokenizers of transformers have, which are never those of weights, of a
/// configuration or of code. Others are left out, which is said on standard error.
/// Errors: [checkpoint/export] for a link that leaves the checkpoint, and for what is neither a
/// file nor a link to one; nothing is copied then.
void copy_tokenizer(const std::string& checkpoint, const std::string& output);

}  // namespace s2s::run
