#pragma once
// Errors of EAR-TTS. `path` and `place` name an option ("model.cas_config").

#include <cstdint>
#include <string>

#include "s2s/error.h"

namespace s2s::eartts {

Error bad_subword_encoder_error(const std::string& place, const std::string& value,
                                const std::string& expected);
Error no_backbone_error(const std::string& path);
Error bad_sizes_error(const std::string& place, int64_t value, const std::string& expected);
Error no_pieces_error(const std::string& path);
Error no_tokenizer_error();
Error no_input_error(const std::string& name);
Error no_books_error(const std::string& place);
Error bad_top_error(const std::string& place, const std::string& value);

}  // namespace s2s::eartts
