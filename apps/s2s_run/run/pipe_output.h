#pragma once
// What `generate --stream --input -` writes to standard output
// (core/docs/guides/audio_from_a_pipe.md).

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "s2s/kinds/tokenizer.h"

namespace s2s::run {

/// The words of a text channel that grows.
class GrowingText {
 public:
  explicit GrowingText(const Tokenizer& tokenizer) : tokenizer_(tokenizer) {}

  /// New tokens -> what they add to the text. Words of which a part may still change come later.
  std::string add(const std::vector<int64_t>& tokens);
  /// What `add` held back. `text` is then the decoded channel.
  std::string finish();
  /// All tokens, PAD included.
  const std::vector<int64_t>& tokens() const { return tokens_; }
  const std::string& text() const { return text_; }

 private:
  std::string news(size_t end);

  const Tokenizer& tokenizer_;
  std::vector<int64_t> tokens_;
  std::vector<int64_t> decoded_;  // without PAD, of which a silent channel is full
  std::string text_;              // decoded so far
  size_t num_given_ = 0;          // bytes of text_ that `add` has returned
};

/// Bytes to standard output, written at once. A reader that has gone away ends the output, and is
/// no error.
class PipeOutput {
 public:
  /// Errors: [io/write].
  void write(std::string_view bytes);
  /// A line of JSON, all ASCII.
  void write_line(const nlohmann::ordered_json& line);
  bool is_open() const { return is_open_; }
  int64_t num_bytes() const { return num_bytes_; }

 private:
  bool is_open_ = true;
  int64_t num_bytes_ = 0;
};

/// The header of a WAV file of 16-bit samples, one channel. num_bytes of samples; -1: not known
/// yet, for which the sizes are the largest.
std::string wav_header(int64_t sample_rate_hz, int64_t num_bytes);

/// Samples [S] float32, clipped to [-1, 1] -> signed 16-bit little-endian samples.
std::string pcm_of(const at::Tensor& samples_S);

}  // namespace s2s::run
