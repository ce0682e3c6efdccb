#pragma once
// Errors of the plugin. `place`: of the model's options in the config.

#include <cstdint>
#include <string>
#include <vector>

#include "s2s/error.h"

namespace s2s::asr {

Error durations_error(const std::string& place, const std::vector<int64_t>& durations);
Error ctc_weight_error(const std::string& place, double weight);
/// Neither the options nor a tokenizer tell the number of labels.
Error no_labels_error(const std::string& place);
/// The tokenizer has ids that the decoder cannot write.
Error too_few_labels_error(const std::string& place, int64_t num_labels, int64_t num_ids);
/// A batch without audio.
Error no_audio_error();

}  // namespace s2s::asr
