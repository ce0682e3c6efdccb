#pragma once
// The small files of an exported checkpoint.

#include <string>

#include "s2s/registry.h"

namespace s2s::run {

/// Copies the tokenizer's files that a checkpoint holds to the folder `output`: regular files of
/// the names that tokenizers of transformers have, which are never those of weights, of a
/// configuration or of code. Others are left out, which is said on standard error.
/// Errors: [checkpoint/export] for a link that leaves the checkpoint, and for what is neither a
/// file nor a link to one; nothing is copied then.
void copy_tokenizer(const std::string& checkpoint, const std::string& output);

/// Writes what the copied tokenizer lacks for transformers (Tokenizer::transformers_files). When it
/// is damaged or transformers cannot express it, standard error says so: the model's folder is
/// whole without. True when something was written. Errors: [io/write], [io/read], those of reading
/// the checkpoint's config.yaml.
bool write_transformers_tokenizer(const std::string& checkpoint, const std::string& output,
                                  const Registries& registries);

/// Copies generation_config.json, where the language model came with one. Errors: as above.
void copy_generation_config(const std::string& checkpoint, const std::string& output);

}  // namespace s2s::run
