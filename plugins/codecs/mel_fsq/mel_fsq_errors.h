#pragma once
// Errors of this codec.

#include <cstdint>
#include <string>

#include "s2s/error.h"

namespace s2s::mel_fsq {

/// `path` names the codec's options in the config ("model.codec").
Error bad_sample_rate(const std::string& path, int64_t rate_hz);
Error too_many_numbers(const std::string& path, int64_t asked, int64_t available);
Error bad_level(const std::string& path, int64_t level);
Error not_fitted(const std::string& path);
Error no_audio(const std::string& path);
Error code_out_of_range(int64_t code, int64_t codebook_size);

}  // namespace s2s::mel_fsq
