#pragma once
// Search for the texts of windows: greedy, or by random numbers. Shape letters: B rows, P ids of
// the prompt, U ids, T frames, H width, A heads of an alignment, V vocabulary.

#include <ATen/core/Generator.h>

#include <vector>

#include "generation_config.h"
#include "text_decoder.h"

namespace s2s::whisper {

/// What is asked for of a window.
struct WindowTask {
  std::vector<int64_t> prompt;
  size_t num_earlier = 0;     // ids of the prompt before <|startoftranscript|>
  int64_t limit = 0;          // the most ids, with those of the prompt
  at::Generator random = {};  // of a CPU, above a temperature of 0; shared by windows of a clip
};

/// What was written about a window.
struct WindowText {
  std::vector<int64_t> ids;  // without the prompt and the id that ends a text
  /// Of the ids and, if there was room for it, of the id that ends the text.
  std::vector<double> log_probabilities;
  /// How much each written id but the last one attends to the frames, [A, U, T] on the CPU; the id
  /// that ends a text counts. Undefined unless it was asked for.
  at::Tensor weights_AUT;
  double no_speech_probability = 0;  // of <|nospeech|> where the prompt begins
  double temperature = 0;            // it was written with
  bool is_silent = false;            // by the thresholds of the configuration

  bool is_ended() const { return log_probabilities.size() > ids.size(); }
  double sum_log_probability() const;
};

/// How windows are searched.
struct WindowSearch {
  const GenerationConfig& config;
  bool with_timestamps = false;
  bool with_weights = false;  // of config.alignment_heads
};

/// The texts of frames [B, T, H], written side by side; the prompts are of equal lengths. Random
/// numbers are those of torch.multinomial. Source: transformers' generate with
/// SuppressTokensLogitsProcessor, SuppressTokensAtBeginLogitsProcessor,
/// WhisperTimeStampLogitsProcessor and WhisperNoSpeechDetection.
std::vector<WindowText> write_windows(TextDecoder& decoder, const at::Tensor& frames_BTH,
                                      const std::vector<WindowTask>& tasks,
                                      const WindowSearch& search, double temperature);

/// The language of each row, as an id of config.lang_to_id, by the first id that is written.
/// Source: transformers' WhisperGenerationMixin.detect_language.
std::vector<int64_t> detect_languages(TextDecoder& decoder, const at::Tensor& frames_BTH,
                                      const GenerationConfig& config);

}  // namespace s2s::whisper
