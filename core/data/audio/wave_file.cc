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

/// Decodes channels [begin, end), piece by piece because a small file can have many channels.
std::vector<at::Tensor> decoded(data::AudioReader& reader, int64_t begin, int64_t end) {
  constexpr int64_t kAtOnce = 1 << 20;
  const int64_t count = reader.info().num_samples;
  const int64_t step = std::max<int64_t>(1, kAtOnce / reader.info().num_channels);
  std::vector<at::Tensor> channels;
  for (int64_t c = begin; c < end; ++c) channels.push_back(at::empty({count}, at::kFloat));
  for (int64_t first = 0; first < count; first += step) {
    const at::Tensor piece_CS = reader.read(first, std::min(step, count - first));
    for (int64_t c = begin; c < end; ++c) {
      channels[static_cast<size_t>(c - begin)]
          .narrow(0, first, piece_CS.size(1))
          .copy_(piece_CS[c]);
    }
  }
  return channels;
}

/// Opens a file and calls `read`. Errors: those of read_channels, and those of `read`.
template <class Read>
auto with_reader(const std::string& path, const Read& read) {
  if (!std::filesystem::exists(path)) throw audio_errors::missing_wave(path);
  try {
    data::AudioReader reader(path);
    const data::AudioInfo& info = reader.info();
    if (info.duration_s() > kLongest_s || info.num_samples > kMostSamples) {
      throw audio_errors::long_wave(path, info.duration_s(), kLongest_s);
    }
    return read(reader);
  } catch (const Error&) {
    throw;
  } catch (const std::runtime_error& error) {
    throw audio_errors::unreadable_wave(path, error.what());
  }
}

}  // namespace

Wave read_wave(const std::string& path, int64_t channel, int64_t sample_rate_hz) {
  return with_reader(path, [&](data::AudioReader& reader) -> Wave {
    const data::AudioInfo& info = reader.info();
    if (info.num_samples == 0) throw audio_errors::empty_wave(path);
    if (channel >= info.num_channels) {
      throw audio_errors::wave_channel(path, channel, info.num_channels);
    }
    const at::Tensor samples_S = decoded(reader, channel, channel + 1).front();
    return {resample(samples_S, info.sample_rate_hz, sample_rate_hz), info.num_channels};
  });
}

std::vector<at::Tensor> read_channels(const std::string& path, int64_t sample_rate_hz) {
  return with_reader(path, [&](data::AudioReader& reader) {
    const data::AudioInfo& info = reader.info();
    std::vector<at::Tensor> channels;
    if (info.num_samples == 0) {
      channels.resize(static_cast<size_t>(info.num_channels), at::empty({0}, at::kFloat));
      return channels;
    }
    // As many at once as the longest channel that is read has samples: mostly all.
    const int64_t at_once = std::max<int64_t>(1, kMostSamples / info.num_samples);
    for (int64_t begin = 0; begin < info.num_channels; begin += at_once) {
      const int64_t end = std::min(info.num_channels, begin + at_once);
      for (at::Tensor& samples_S : decoded(reader, begin, end)) {
        channels.push_back(resample(samples_S, info.sample_rate_hz, sample_rate_hz));
        samples_S.reset();
      }
    }
    return channels;
  });
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
