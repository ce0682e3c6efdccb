#include "audio/pcm_stream.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "audio/audio_errors.h"

namespace s2s {
namespace {

constexpr size_t kRiffBytes = 12, kChunkBytes = 8, kMagicBytes = 4;
constexpr size_t kLongestHeader = size_t{1} << 20;
/// Programs that do not know the length write a size near 2^31 or 2^32, or 0.
constexpr uint32_t kLeastUnknownSize = 0x7FFFF000;
constexpr uint16_t kPcm = 1, kFloat = 3, kExtensible = 0xFFFE;
constexpr int64_t kLeastRate_hz = 1000, kMostRate_hz = 768000, kMostChannels = 1024;

/// Reads a little-endian number, which is the processor's order.
template <class T>
T number_at(std::string_view bytes, size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

/// Returns the name of a container that is neither WAV nor raw, or "".
std::string other_container(std::string_view magic) {
  if (magic == "fLaC") return "FLAC";
  if (magic == "OggS") return "Ogg";
  for (const char* const name : {"RIFX", "RF64", "BW64", "FORM", "caff"}) {
    if (magic == name) return name;
  }
  return magic.starts_with("ID3") ? "MP3" : "";
}

}  // namespace

PcmStream::PcmStream(int64_t channel, int64_t raw_rate_hz)
    : channel_(channel), rate_hz_(raw_rate_hz) {}

at::Tensor PcmStream::add(std::string_view bytes) {
  pending_.append(bytes);
  if (!is_known_ && pending_.size() >= kMagicBytes) read_header();
  return is_known_ ? samples() : at::empty({0}, at::kFloat);
}

at::Tensor PcmStream::finish() {
  if (!is_known_ && is_wav_) throw audio_errors::piped_audio("its WAV header is cut off");
  is_known_ = true;
  return samples();
}

std::string PcmStream::warning() const {
  if (num_left_ && !is_complete()) {
    return fmt::format("standard input ended {} bytes before the end of its samples", *num_left_);
  }
  if (pending_.empty() || is_complete()) return "";
  return fmt::format("standard input has {} bytes after its last whole sample", pending_.size());
}

void PcmStream::read_header() {
  const std::string_view magic = std::string_view(pending_).substr(0, kMagicBytes);
  if (const std::string name = other_container(magic); !name.empty()) {
    throw audio_errors::piped_audio("it is " + name);
  }
  is_wav_ = magic == "RIFF";
  if (!is_wav_) {
    if (channel_ > 0) throw audio_errors::wave_channel("standard input", channel_, 1);
    is_known_ = true;
    return;
  }
  if (pending_.size() < kRiffBytes) return;
  if (pending_.compare(8, 4, "WAVE") != 0) throw audio_errors::piped_audio("it is RIFF, no WAV");
  for (size_t at = kRiffBytes; at + kChunkBytes <= pending_.size();) {
    const std::string_view name = std::string_view(pending_).substr(at, 4);
    const auto num_bytes = number_at<uint32_t>(pending_, at + 4);
    if (name == "data") {
      pending_.erase(0, at + kChunkBytes);
      return begin_data(num_bytes);
    }
    const size_t begin = at + kChunkBytes, end = begin + num_bytes;
    if (end > kLongestHeader) {
      throw audio_errors::piped_audio("its WAV header is longer than 1 MiB");
    }
    if (end > pending_.size()) return;
    if (name == "fmt " && !has_format_) {
      read_format(std::string_view(pending_).substr(begin, num_bytes));
    }
    at = end + num_bytes % 2;
  }
}

void PcmStream::read_format(std::string_view chunk) {
  if (chunk.size() < 16) throw audio_errors::piped_audio("its WAV format is cut off");
  auto tag = number_at<uint16_t>(chunk, 0);
  if (tag == kExtensible && chunk.size() >= 26) tag = number_at<uint16_t>(chunk, 24);
  num_channels_ = number_at<uint16_t>(chunk, 2);
  rate_hz_ = number_at<uint32_t>(chunk, 4);
  const auto bits = number_at<uint16_t>(chunk, 14);
  if (tag == kPcm && bits == 8) {
    sample_ = Sample::kUnsigned8;
  } else if (tag == kPcm && bits == 16) {
    sample_ = Sample::kSigned16;
  } else if (tag == kPcm && bits == 24) {
    sample_ = Sample::kSigned24;
  } else if (tag == kPcm && bits == 32) {
    sample_ = Sample::kSigned32;
  } else if (tag == kFloat && (bits == 32 || bits == 64)) {
    sample_ = bits == 32 ? Sample::kFloat32 : Sample::kFloat64;
  } else {
    throw audio_errors::piped_audio(
        fmt::format("it is WAV of format {} with {} bits per sample", tag, bits));
  }
  if (rate_hz_ < kLeastRate_hz || rate_hz_ > kMostRate_hz || num_channels_ < 1 ||
      num_channels_ > kMostChannels) {
    throw audio_errors::piped_audio(
        fmt::format("it is WAV of {} channels at {} Hz", num_channels_, rate_hz_));
  }
  if (channel_ >= num_channels_) {
    throw audio_errors::wave_channel("standard input", channel_, num_channels_);
  }
  sample_bytes_ = bits / 8;
  has_format_ = true;
}

void PcmStream::begin_data(uint32_t num_bytes) {
  if (!has_format_) throw audio_errors::piped_audio("its WAV header has no format");
  if (num_bytes > 0 && num_bytes < kLeastUnknownSize) num_left_ = num_bytes;
  is_known_ = true;
}

float PcmStream::value(const char* bytes) const {
  const std::string_view at(bytes, static_cast<size_t>(sample_bytes_));
  switch (sample_) {
    case Sample::kUnsigned8:
      return (static_cast<float>(static_cast<uint8_t>(at[0])) - 128.0F) / 128.0F;
    case Sample::kSigned16:
      return static_cast<float>(number_at<int16_t>(at, 0)) / 32768.0F;
    case Sample::kSigned24: {
      char wide[4] = {0, at[0], at[1], at[2]};
      return static_cast<float>(number_at<int32_t>({wide, 4}, 0)) / 2147483648.0F;
    }
    case Sample::kSigned32:
      return static_cast<float>(number_at<int32_t>(at, 0)) / 2147483648.0F;
    case Sample::kFloat32:
      return number_at<float>(at, 0);
    case Sample::kFloat64:
      return static_cast<float>(number_at<double>(at, 0));
  }
  return 0;
}

at::Tensor PcmStream::samples() {
  const size_t frame = frame_bytes();
  const size_t there =
      num_left_ ? std::min<uint64_t>(*num_left_, pending_.size()) : pending_.size();
  const size_t count = there / frame;
  at::Tensor samples_S = at::empty({static_cast<int64_t>(count)}, at::kFloat);
  auto* const out = samples_S.data_ptr<float>();
  const char* at = pending_.data() + static_cast<size_t>(channel_ * sample_bytes_);
  for (size_t i = 0; i < count; ++i, at += frame) {
    out[i] = value(at);
    if (!std::isfinite(out[i])) throw audio_errors::piped_audio("a sample is not finite");
  }
  pending_.erase(0, count * frame);
  if (num_left_) *num_left_ -= count * frame;
  return samples_S;
}

}  // namespace s2s
