#pragma once
// Errors of the plugin.

#include <cstdint>
#include <string>

#include "s2s/error.h"

namespace s2s::salm {

/// The numbers of audios and of tags in one row, or in all rows of a batch.
struct AudioCount {
  std::string place;  // "row 2 of the batch", "the prompt"
  std::string tag;    // the tag's text
  int64_t places = 0;
  int64_t audios = 0;
};

Error audio_count_error(const AudioCount& count);
Error tag_error(const std::string& tag, const std::string& found);
Error no_batch_tensor_error(const std::string& name);
/// The tokenizer lacks "pad" or "eos". `reason`: why it is needed.
Error no_id_error(const std::string& name, const std::string& reason);
/// model.asr_decoder and encoder_chunk_size_seconds are both set.
Error decoder_of_chunks_error();
Error sampled_beams_error(int64_t num_beams, double temperature);

}  // namespace s2s::salm
