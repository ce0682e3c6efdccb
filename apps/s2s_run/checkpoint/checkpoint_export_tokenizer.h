#pragma once
// Copies the small files of an exported checkpoint.

#include <memory>
#include <string>

#include "s2s/kinds/tokenizer.h"
#include "s2s/registry.h"

namespace s2s::run {

/// Copies the tokenizer's files of a checkpoint to the folder `output`. Copies only regular files
/// with the names of transformers' tokenizer files, which never contain weights, configurations or
/// code. Prints a note about skipped files.
/// Errors: [checkpoint/export] for a link that leaves the checkpoint, and for anything that is not
/// a regular file; then nothing is copied.
void copy_tokenizer(const std::string& checkpoint, const std::string& output);

/// The tokenizer of a checkpoint's own copies; null when it has none. Errors: those of the
/// tokenizer and of reading config.yaml, [checkpoint/export] for a configuration that names none.
std::unique_ptr<Tokenizer> tokenizer_of_checkpoint(const std::string& checkpoint,
                                                   const Registries& registries);

/// Writes the files that transformers needs in addition to the copied tokenizer
/// (Tokenizer::transformers_files). If the tokenizer is damaged or transformers cannot express it,
/// prints a note; the exported model is complete without it. True when files were written. Errors:
/// [io/write], [io/read], those of reading the checkpoint's config.yaml.
bool write_transformers_tokenizer(const std::string& checkpoint, const std::string& output,
                                  const Registries& registries);

/// Copies generation_config.json, if the language model has one. Errors: as for copy_tokenizer.
void copy_generation_config(const std::string& checkpoint, const std::string& output);

}  // namespace s2s::run
