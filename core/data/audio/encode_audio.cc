#include "audio/encode_audio.h"

#include <ATen/ATen.h>
#include <sndfile.h>

#include <cstring>

#include "audio/audio_errors.h"
#include "audio/audio_format.h"
#include "s2s/error.h"

namespace s2s::data {
namespace {

/// A file that grows in memory; encoders go back to fix their headers.
struct Growing {
  std::string bytes;
  int64_t position = 0;

  static Growing& of(void* file) { return *static_cast<Growing*>(file); }
  static sf_count_t size(void* file) { return static_cast<sf_count_t>(of(file).bytes.size()); }
  static sf_count_t tell(void* file) { return of(file).position; }
  static sf_count_t seek(sf_count_t offset, int whence, void* file) {
    if (whence == SEEK_CUR) offset += of(file).position;
    if (whence == SEEK_END) offset += size(file);
    return of(file).position = offset;
  }
  static sf_count_t read(void* to, sf_count_t count, void* file) {
    const sf_count_t there = std::max<sf_count_t>(0, size(file) - of(file).position);
    count = std::min(count, there);
    std::memcpy(to, of(file).bytes.data() + of(file).position, static_cast<size_t>(count));
    of(file).position += count;
    return count;
  }
  static sf_count_t write(const void* from, sf_count_t count, void* file) {
    const auto end = static_cast<size_t>(of(file).position + count);
    if (of(file).bytes.size() < end) of(file).bytes.resize(end);
    std::memcpy(of(file).bytes.data() + of(file).position, from, static_cast<size_t>(count));
    of(file).position += count;
    return count;
  }
};

}  // namespace

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
  Growing file;
  SF_VIRTUAL_IO calls = {Growing::size, Growing::seek, Growing::read, Growing::write,
                         Growing::tell};
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
