#pragma once

#include <cstdint>
#include <string>

#include "s2s/error.h"
#include "s2s/kinds/tokenizer.h"

namespace s2s::sentencepiece_plugin::errors {

Error no_path(const std::string& place);
Error missing_file(const std::string& place, const std::string& path);
Error unreadable(const std::string& place, const std::string& path, const std::string& reason);
/// [io/read]: the file is there, and cannot be read at this moment.
Error cannot_read_now(const std::string& path, const std::string& reason);
/// `name`: bos_id, eos_id or pad_id, which neither the config nor the model says.
Error no_special_id(const std::string& place, const std::string& path, const std::string& name);
Error special_id_range(const std::string& place, const std::string& name, int64_t id,
                       int64_t vocab_size);
Error equal_special_ids(const std::string& place, const SpecialIds& ids);
/// `reason`: what the model is or has that transformers cannot express.
Error no_transformers(const std::string& place, const std::string& reason);
Error training(const std::string& place, const std::string& reason);

}  // namespace s2s::sentencepiece_plugin::errors
