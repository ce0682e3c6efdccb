#pragma once
// The base model that an exported adapter names.

#include <optional>
#include <string>

#include "s2s/nn/block.h"

namespace s2s::run {

/// True for a folder that from_pretrained of transformers can load.
bool has_transformers_model(const std::string& folder);

/// The folder that the run's language model came from (`key`: model.llm.path or model.path of the
/// checkpoint's configuration), as an absolute path, if it is one of transformers and has the
/// weights that the adapters were trained on. `base`: those, under Hugging Face's names. They
/// differ from the folder's where a run trains more than its adapters, or did not start from them.
std::optional<std::string> base_folder(const std::string& checkpoint, const std::string& key,
                                       const TensorMap& base);

}  // namespace s2s::run
