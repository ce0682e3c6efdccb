#pragma once
// Audio from a pipe: a WAV file whose header may not have the length, or raw samples.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace s2s {

/// Reads data that begins with a WAV header as WAV (integers of 8, 16, 24 and 32 bits, floats of 32
/// and 64 bits). Reads any other data as raw samples: signed 16 bits, little-endian, one channel.
/// Bytes may arrive in pieces of any size.
class PcmStream {
 public:
  /// channel: 0-based. raw_rate_hz: the rate of raw samples.
  PcmStream(int64_t channel, int64_t raw_rate_hz);

  /// Takes the next bytes and returns the complete samples [S] float32 of the channel, maybe none.
  /// Errors: [data/unreadable-audio], [data/channel].
  at::Tensor add(std::string_view bytes);
  /// Ends the stream. Returns the samples of a stream that was too short to recognize its format.
  /// Errors: [data/unreadable-audio] for an incomplete header.
  at::Tensor finish();

  /// Whether the format is known: after four bytes, or at the end of a WAV header.
  bool is_known() const { return is_known_; }
  bool is_wav() const { return is_wav_; }
  int64_t sample_rate_hz() const { return rate_hz_; }
  /// Whether the header has the length and all samples have arrived.
  bool is_complete() const { return num_left_ && *num_left_ < frame_bytes(); }
  /// Returns what was wrong at the end ("3 bytes after the last whole sample"), or "".
  std::string warning() const;

 private:
  enum class Sample { kUnsigned8, kSigned16, kSigned24, kSigned32, kFloat32, kFloat64 };
  uint64_t frame_bytes() const { return static_cast<uint64_t>(sample_bytes_ * num_channels_); }
  at::Tensor samples();
  void read_header();
  void read_format(std::string_view chunk);
  void begin_data(uint32_t num_bytes);
  float value(const char* bytes) const;

  int64_t channel_;
  int64_t rate_hz_;
  bool is_known_ = false;
  bool is_wav_ = false;
  bool has_format_ = false;
  Sample sample_ = Sample::kSigned16;
  int64_t sample_bytes_ = 2;
  int64_t num_channels_ = 1;
  std::optional<uint64_t> num_left_;  // remaining bytes of samples; nothing: up to the end
  std::string pending_;               // incomplete header or sample
};

}  // namespace s2s
