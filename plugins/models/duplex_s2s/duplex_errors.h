#pragma once
// Errors of the duplex model.

#include <string>

#include "s2s/config.h"
#include "s2s/error.h"

namespace s2s::duplex {

[[noreturn]] void throw_no_codec();
[[noreturn]] void throw_no_tokenizer();
/// [model/no-loss]: the current stage has no loss.
[[noreturn]] void throw_no_loss();
/// [model/part-missing]: a part of the model has no name.
[[noreturn]] void throw_part_missing(const std::string& path, const Config& model);
/// [model/token-id]: an id is outside the vocabulary, or two ids are equal.
[[noreturn]] void throw_token_ids(const std::string& problem);
/// [model/vocabulary]: the tokenizer has more ids than the backbone embeds.
[[noreturn]] void throw_vocabulary(int64_t tokenizer_size, int64_t backbone_size);
/// [model/frame-rate]: the encoder or the codec has another frame length than the data.
[[noreturn]] void throw_frame_rate(const std::string& part, double rate_hz, double frame_length_s);
/// [model/sample-rate]: a part uses another sample rate than the data block.
[[noreturn]] void throw_sample_rate(const std::string& part, int64_t rate_hz,
                                    const std::string& key, int64_t data_rate_hz);
/// [model/user-text]: an option needs feed_back, which is off.
[[noreturn]] void throw_not_fed_back(const std::string& key);
/// [model/translate]: a key of a foreign config changes the result and is not supported.
[[noreturn]] void throw_not_translated(const std::string& path, const Config& value,
                                       const std::string& expected);

}  // namespace s2s::duplex
