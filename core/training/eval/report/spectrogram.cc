#include "eval/report/spectrogram.h"

#include <ATen/ATen.h>
#include <zlib.h>

#include <array>
#include <vector>

#include "s2s/error.h"
#include "s2s/nn/mel.h"

namespace s2s {
namespace {

using Rgb = std::array<uint8_t, 3>;

std::string big_endian(uint32_t value) {
  std::string out;
  for (int shift = 24; shift >= 0; shift -= 8) {
    out += static_cast<char>(static_cast<unsigned char>(value >> shift));
  }
  return out;
}

const Bytef* bytes_of(const std::string& text) {
  return reinterpret_cast<const Bytef*>(text.data());
}

std::string chunk(const std::string& type, const std::string& data) {
  const std::string body = type + data;
  const uLong checksum = crc32(0, bytes_of(body), static_cast<uInt>(body.size()));
  return big_endian(static_cast<uint32_t>(data.size())) + body +
         big_endian(static_cast<uint32_t>(checksum));
}

std::string deflate_all(const std::string& raw) {
  uLongf size = compressBound(static_cast<uLong>(raw.size()));
  std::string out(size, '\0');
  const int status = compress2(reinterpret_cast<Bytef*>(out.data()), &size, bytes_of(raw),
                               static_cast<uLong>(raw.size()), Z_BEST_COMPRESSION);
  S2S_ASSERT(status == Z_OK, "the output buffer has the bound's size");
  out.resize(size);
  return out;
}

constexpr double kColumn_s = 0.02;
constexpr double kWindowColumns = 2;  // window length in columns
constexpr int64_t kNumMels = 64;
// Relative to a full-scale sine; lower levels get the darkest color.
constexpr double kQuietest_db = -85;
constexpr double kLoudest_db = -20;
constexpr int64_t kNumColors = 32;

int64_t next_power_of_two(int64_t value) {
  int64_t power = 1;
  while (power < value) power *= 2;
  return power;
}

/// Encodes palette indices as a PNG file. `pixels`: [height * width], in rows from the top.
/// `palette`: at most 256 colors. Source: the PNG specification, ISO/IEC 15948.
std::string encode_png(const std::vector<uint8_t>& pixels, uint32_t width,
                       const std::vector<Rgb>& palette) {
  S2S_ASSERT(width > 0 && !pixels.empty() && pixels.size() % width == 0, "whole rows");
  S2S_ASSERT(!palette.empty() && palette.size() <= 256, "8-bit indices");
  const auto height = static_cast<uint32_t>(pixels.size() / width);
  // 8 bits, palette, deflate, adaptive filters, not interlaced.
  const std::string header =
      big_endian(width) + big_endian(height) + std::string("\x08\x03\0\0\0", 5);
  std::string colors;
  for (const Rgb& color : palette) colors.append(color.begin(), color.end());
  std::string rows;
  for (uint32_t y = 0; y < height; ++y) {
    rows += '\0';  // no filter: neighboring palette indices are not correlated enough
    const auto first = pixels.begin() + static_cast<std::ptrdiff_t>(y) * width;
    rows.append(first, first + width);
  }
  return std::string("\x89PNG\r\n\x1a\n") + chunk("IHDR", header) + chunk("PLTE", colors) +
         chunk("IDAT", deflate_all(rows)) + chunk("IEND", "");
}

/// Colors from dark to bright.
std::vector<Rgb> spectrogram_palette() {
  const std::vector<std::array<double, 3>> anchors = {
      {10, 12, 30}, {38, 30, 92}, {98, 36, 122}, {178, 50, 108}, {236, 104, 66}, {252, 226, 140}};
  std::vector<Rgb> palette;
  for (int64_t i = 0; i < kNumColors; ++i) {
    const double at = static_cast<double>(i) / static_cast<double>(kNumColors - 1) *
                      static_cast<double>(anchors.size() - 1);
    const auto low = std::min(static_cast<size_t>(at), anchors.size() - 2);
    const double share = at - static_cast<double>(low);
    Rgb color;
    for (size_t c = 0; c < 3; ++c) {
      color[c] = static_cast<uint8_t>(
          std::lround(anchors[low][c] + share * (anchors[low + 1][c] - anchors[low][c])));
    }
    palette.push_back(color);
  }
  return palette;
}

}  // namespace

at::Tensor mel_levels_db(const AudioClip& clip) {
  const auto rate = static_cast<double>(clip.sample_rate_hz);
  const auto hop = static_cast<int64_t>(std::llround(kColumn_s * rate));
  const auto window_samples = static_cast<int64_t>(kWindowColumns * static_cast<double>(hop));
  const int64_t n_fft = next_power_of_two(std::max<int64_t>(512, window_samples));
  MelBank bank;
  bank.sample_rate_hz = clip.sample_rate_hz;
  bank.n_fft = n_fft;
  bank.num_mels = kNumMels;
  bank.high_hz = std::min(kSpectrogramTop_hz, rate / 2);
  bank.slaney_norm = false;
  const at::Tensor window = stft_window("hann", window_samples, true);
  const at::Tensor audio_BS = clip.samples_S.to(at::kCPU, at::kFloat).unsqueeze(0);
  const at::Tensor power_TN = power_spectrogram(audio_BS, window, n_fft, hop).squeeze(0);
  const at::Tensor mel_FT = at::matmul(mel_filterbank(bank), power_TN.t());
  // For a full-scale sine, |X| is half the sum of the window.
  const double full_scale = std::pow(window.sum().item<double>() / 2, 2);
  return (mel_FT / full_scale).clamp_min(1e-12).log10().mul(10);
}

std::string spectrogram_png(const AudioClip& clip) {
  const double range_db = kLoudest_db - kQuietest_db;
  const at::Tensor level_FT = (mel_levels_db(clip) - kQuietest_db) / range_db;
  const auto top = static_cast<double>(kNumColors - 1);
  const at::Tensor index_FT =
      at::flip(level_FT.clamp(0, 1) * top, {0}).round().to(at::kByte).contiguous();
  const uint8_t* first = index_FT.const_data_ptr<uint8_t>();
  return encode_png(std::vector<uint8_t>(first, first + index_FT.numel()),
                    static_cast<uint32_t>(index_FT.size(1)), spectrogram_palette());
}

}  // namespace s2s
