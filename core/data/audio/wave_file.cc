#include "audio/wave_file.h"

#include <ATen/ATen.h>
#include <sndfile.h>

#include <cerrno>
#include <filesystem>

#include "audio/audio_errors.h"
#include "audio/audio_reader.h"
#include "base/io_errors.h"
#include "s2s/data/resample.h"

namespace s2s {
namespace {

constexpr int64_t kLongest_s = 3600;
constexpr int64_t kMostSamples = int64_t{1} << 28;  // an hour at 74 kHz

/// Decodes one channel piece by piece, because a small file can have many channels.
at::Tensor read_channel(data::AudioReader& reader, int64_t channel) {
  constexpr int64_t kAtOnce = 1 << 20;
  const int64_t count = reader.info().num_samples;
  const int64_t step = std::max<int64_t>(1, kAtOnce / reader.info().num_channels);
  std::vector<at::Tensor> pieces;
  for (int64_t first = 0; first < count; first += step) {
    const at::Tensor piece_CS = reader.read(first, std::min(step, count - first));
    pieces.push_back(piece_CS[channel].contiguous());
  }
  return pieces.size() == 1 ? pieces.front() : at::cat(pieces);
}

}  // namespace

Wave read_wave(const std::string& path, int64_t channel, int64_t sample_rate_hz) {
  if (!std::filesystem::exists(path)) throw audio_errors::missing_wave(path);
  try {
    data::AudioReader reader(path);
    const data::AudioInfo info = reader.info();
    if (info.num_samples == 0) throw audio_errors::empty_wave(path);
    if (channel >= info.num_channels) {
      throw audio_errors::wave_channel(path, channel, info.num_channels);
    }
    if (info.duration_s() > kLongest_s || info.num_samples > kMostSamples) {
      throw audio_errors::long_wave(path, info.duration_s(), kLongest_s);
    }
    return {resample(read_channel(reader, channel), info.sample_rate_hz, sample_rate_hz),
            info.num_channels};
  } catch (const Error&) {
    throw;
  } catch (const std::runtime_error& error) {
    throw audio_errors::unreadable_wave(path, error.what());
  }
}

void write_wave(const std::string& path, const at::Tensor& samples_S, int64_t sample_rate_hz) {
  SF_INFO info{};
  info.samplerate = static_cast<int>(sample_rate_hz);
  info.channels = 1;
  info.format = SF_FORMAT_WAV | SF_FORMAT_PCM_16;
  const at::Tensor samples = samples_S.detach().to(at::kCPU, at::kFloat).clamp(-1, 1).contiguous();
  SNDFILE* const file = sf_open(path.c_str(), SFM_WRITE, &info);
  if (file == nullptr) throw write_error(path, "cannot open for writing", errno);
  const sf_count_t written = sf_writef_float(file, samples.data_ptr<float>(), samples.numel());
  sf_write_sync(file);
  sf_close(file);
  if (written != samples.numel()) throw write_error(path, "cannot write", errno);
}

}  // namespace s2s
