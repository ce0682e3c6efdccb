#include "eval/report/audio_encoding.h"

#include <ATen/ATen.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "audio/memory_file.h"
#include "base/text.h"
#include "train/train_errors.h"

namespace s2s {

namespace {

constexpr double kVorbisQuality = 0.3;
constexpr int64_t kBlockSamples = 4096;

/// The clip's samples, or a single zero for an empty clip: libsndfile cannot write an empty file.
at::Tensor playable(const AudioClip& clip) {
  if (!clip.samples_S.defined() || clip.samples_S.numel() == 0) return at::zeros({1});
  return at::nan_to_num(clip.samples_S.to(at::kCPU, at::kFloat), 0.0, 1.0, -1.0)
      .clamp(-1, 1)
      .contiguous();
}

}  // namespace

std::string encode_audio(const AudioClip& clip, AudioEncoding encoding) {
  const at::Tensor samples_S = playable(clip);
  SF_VIRTUAL_IO calls = data::MemoryFile::calls();
  SF_INFO info = {};
  info.samplerate = static_cast<int>(clip.sample_rate_hz);
  info.channels = 1;
  const bool is_vorbis = encoding == AudioEncoding::kOggVorbis;
  info.format = is_vorbis ? SF_FORMAT_OGG | SF_FORMAT_VORBIS : SF_FORMAT_WAV | SF_FORMAT_PCM_16;
  data::MemoryFile memory;
  SNDFILE* file = sf_open_virtual(&calls, SFM_WRITE, &info, &memory);
  S2S_ASSERT(file != nullptr, "libsndfile writes these formats at any rate in use");
  double quality = kVorbisQuality;
  if (is_vorbis) sf_command(file, SFC_SET_VBR_ENCODING_QUALITY, &quality, sizeof(quality));
  // Write in blocks: the Vorbis encoder puts a whole write on the stack.
  const float* samples = samples_S.const_data_ptr<float>();
  for (int64_t i = 0; i < samples_S.numel(); i += kBlockSamples) {
    sf_write_float(file, samples + i, std::min(kBlockSamples, samples_S.numel() - i));
  }
  sf_close(file);
  return std::move(memory.bytes);
}

void write_bytes(const std::filesystem::path& path, std::string_view bytes) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (!file) throw report_write_error(path.string(), std::strerror(errno));
}

std::string data_uri(const char* mime, std::string_view bytes) {
  return std::string("data:") + mime + ";base64," + to_base64(bytes);
}

}  // namespace s2s
