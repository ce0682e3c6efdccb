#pragma once
// The duplex model's messages to its users, all in one place.

#include <string>

#include "s2s/config.h"
#include "s2s/error.h"

namespace s2s::duplex {

[[noreturn]] void throw_no_codec();
[[noreturn]] void throw_no_tokenizer();
/// [model/no-loss]: the stage in force leaves nothing to learn from.
[[noreturn]] void throw_no_loss();
/// [model/part-missing]: a part of the model has no name.
[[noreturn]] void throw_part_missing(const std::string& path, const Config& model);
/// [model/token-id]: an id that lies outside the vocabulary, or two that are equal.
[[noreturn]] void throw_token_ids(const std::string& problem);
/// [model/vocabulary]: the tokenizer knows more ids than the backbone embeds.
[[noreturn]] void throw_vocabulary(int64_t tokenizer_size, int64_t backbone_size);
/// [model/frame-rate]: encoder or codec do not run at the data's frame length.
[[noreturn]] void throw_frame_rate(const std::string& part, double rate_hz, double frame_length_s);
/// [model/sample-rate]: a part works at another sample rate than the data block says.
[[noreturn]] void throw_sample_rate(const std::string& part, int64_t rate_hz,
                                    const std::string& key, int64_t data_rate_hz);
/// [model/user-text]: an option that needs the words fed back, which they are not.
[[noreturn]] void throw_not_fed_back(const std::string& key);
/// [model/translate]: a key of a foreign config that changes the numbers and is not understood.
[[noreturn]] void throw_not_translated(const std::string& path, const Config& value,
                                       const std::string& expected);

}  // namespace s2s::duplex
