#pragma once
// Errors of this codec. `path` names the codec's options in the config ("model.codec").

#include <cstdint>
#include <string>

#include "s2s/error.h"

namespace s2s::rvq_vae {

Error bad_stages(const std::string& path, size_t channel_factors, size_t rates);
Error bad_frame_samples(const std::string& path, int64_t given, int64_t expected);
Error bad_window(const std::string& path, int64_t n_fft, int64_t hop_length);
Error bad_groups(const std::string& path, int64_t groups, int64_t channels);
Error code_out_of_range(int64_t code, int64_t codebook_size);
/// A warning: the codec has random weights.
std::string untrained(const std::string& path);

}  // namespace s2s::rvq_vae
