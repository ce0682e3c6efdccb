#pragma once
// Errors of EAR-TTS. `path` and `place` name an option ("model.cas_config").

#include <cstdint>
#include <string>

#include "s2s/error.h"

namespace s2s::eartts {

[[noreturn]] void throw_bad_subword_encoder(const std::string& place, const std::string& value,
                                            const std::string& expected);
[[noreturn]] void throw_no_backbone(const std::string& path);
[[noreturn]] void throw_bad_sizes(const std::string& place, int64_t value,
                                  const std::string& expected);
[[noreturn]] void throw_no_pieces(const std::string& path);
[[noreturn]] void throw_no_tokenizer();
[[noreturn]] void throw_no_input(const std::string& name);
[[noreturn]] void throw_no_books(const std::string& place);
[[noreturn]] void throw_bad_top(const std::string& place, const std::string& value);

}  // namespace s2s::eartts
