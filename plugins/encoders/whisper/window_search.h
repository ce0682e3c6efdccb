#pragma once
// Greedy search for the texts of windows. Shape letters: B rows, P ids of the prompt, U ids, T
// frames, H width, A heads of an alignment, V vocabulary.

#include <vector>

#include "generation_config.h"
#include "text_decoder.h"

namespace s2s::whisper {

/// What was written about a window.
struct WindowText {
  std::vector<int64_t> ids;  // without the prompt and the id that ends a text
  /// How much each written id but the last one attends to the frames, [A, U, T] on the CPU; the id
  /// that ends a text counts. Undefined unless it was asked for.
  at::Tensor weights_AUT;
  bool is_silent = false;  // by the thresholds of the configuration
};

/// How windows are searched.
struct WindowSearch {
  const GenerationConfig& config;
  bool with_timestamps = false;
  bool with_weights = false;  // of config.alignment_heads
};

/// The texts of frames [B, T, H], written side by side. prompts: of equal lengths; limits: the most
/// ids of each row, its prompt included. Source: transformers' generate with
/// SuppressTokensLogitsProcessor, SuppressTokensAtBeginLogitsProcessor and
/// WhisperTimeStampLogitsProcessor.
std::vector<WindowText> write_windows(TextDecoder& decoder, const at::Tensor& frames_BTH,
                                      const std::vector<std::vector<int64_t>>& prompts,
                                      const std::vector<int64_t>& limits,
                                      const WindowSearch& search);

/// The language of each row, as an id of config.lang_to_id, by the first id that is written.
/// Source: transformers' WhisperGenerationMixin.detect_language.
std::vector<int64_t> detect_languages(TextDecoder& decoder, const at::Tensor& frames_BTH,
                                      const GenerationConfig& config);

}  // namespace s2s::whisper
