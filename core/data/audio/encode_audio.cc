#include "audio/encode_audio.h"

#include <ATen/ATen.h>

#include "audio/audio_errors.h"
#include "audio/audio_format.h"
#include "audio/memory_file.h"
#include "s2s/error.h"

namespace s2s::data {
std::string encode_audio(const at::Tensor& audio_CS, int64_t sample_rate_hz,
                         const std::string& format, std::optional<double> compression) {
  S2S_ASSERT(audio_CS.dim() == 1 || audio_CS.dim() == 2, "audio has channels and samples");
  const at::Tensor rows_CS = audio_CS.dim() == 1 ? audio_CS.unsqueeze(0) : audio_CS;
  const at::Tensor samples_SC = rows_CS.detach().to(at::kCPU, at::kFloat).t().contiguous();
  SF_INFO info{};
  info.samplerate = static_cast<int>(sample_rate_hz);
  info.channels = static_cast<int>(rows_CS.size(0));
  info.format = audio_format_number(format);
  if (info.format == 0) throw audio_errors::unknown_format(format, audio_format_names());
  MemoryFile file;
  SF_VIRTUAL_IO calls = MemoryFile::calls();
  SNDFILE* const encoder = sf_open_virtual(&calls, SFM_WRITE, &info, &file);
  if (encoder == nullptr) {
    throw audio_errors::encoding(format, sample_rate_hz, rows_CS.size(0), sf_strerror(nullptr));
  }
  sf_command(encoder, SFC_SET_CLIPPING, nullptr, SF_TRUE);
  if (compression) {
    double level = *compression;
    sf_command(encoder, SFC_SET_COMPRESSION_LEVEL, &level, sizeof level);
  }
  const sf_count_t written =
      sf_writef_float(encoder, samples_SC.const_data_ptr<float>(), samples_SC.size(0));
  const std::string reason = sf_strerror(encoder);
  sf_close(encoder);
  if (written != samples_SC.size(0)) {
    throw audio_errors::encoding(format, sample_rate_hz, rows_CS.size(0), reason);
  }
  return std::move(file.bytes);
}

int64_t rate_to_encode(const std::string& format, int64_t sample_rate_hz) {
  return format == "opus" ? 48000 : sample_rate_hz;
}

}  // namespace s2s::data
