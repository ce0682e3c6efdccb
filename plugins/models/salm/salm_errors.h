#pragma once
// Errors of the plugin.

#include <cstdint>
#include <string>

#include "s2s/error.h"

namespace s2s::salm {

/// Audios and their places in one row, or in all rows of a batch.
struct AudioCount {
  std::string place;  // "row 2 of the batch", "the prompt"
  std::string tag;    // how a place is written
  int64_t places = 0;
  int64_t audios = 0;
};

[[noreturn]] void throw_audio_count(const AudioCount& count);
[[noreturn]] void throw_tag(const std::string& tag, const std::string& found);
[[noreturn]] void throw_no_batch_tensor(const std::string& name);
/// The tokenizer lacks "pad" or "eos", for this reason.
[[noreturn]] void throw_no_id(const std::string& name, const std::string& reason);
/// model.asr_decoder together with encoder_chunk_size_seconds.
[[noreturn]] void throw_decoder_of_chunks();
[[noreturn]] void throw_sampled_beams(int64_t num_beams, double temperature);

}  // namespace s2s::salm
