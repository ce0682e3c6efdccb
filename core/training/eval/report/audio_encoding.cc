#include "eval/report/audio_encoding.h"

#include <ATen/ATen.h>
#include <sndfile.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "train/train_errors.h"

namespace s2s {

namespace {

constexpr double kVorbisQuality = 0.3;
constexpr int64_t kBlockSamples = 4096;

/// A growing file in memory, as libsndfile's virtual I/O wants it.
struct MemoryFile {
  std::string bytes;
  size_t at = 0;
};

MemoryFile& file_of(void* user) { return *static_cast<MemoryFile*>(user); }

sf_count_t file_length(void* user) { return static_cast<sf_count_t>(file_of(user).bytes.size()); }

sf_count_t file_seek(sf_count_t offset, int whence, void* user) {
  MemoryFile& file = file_of(user);
  sf_count_t base = 0;
  if (whence == SEEK_CUR) base = static_cast<sf_count_t>(file.at);
  if (whence == SEEK_END) base = static_cast<sf_count_t>(file.bytes.size());
  file.at = static_cast<size_t>(std::max<sf_count_t>(0, base + offset));
  return static_cast<sf_count_t>(file.at);
}

sf_count_t file_read(void* target, sf_count_t count, void* user) {
  MemoryFile& file = file_of(user);
  const size_t left = file.bytes.size() - std::min(file.at, file.bytes.size());
  const size_t size = std::min(static_cast<size_t>(count), left);
  std::memcpy(target, file.bytes.data() + file.at, size);
  file.at += size;
  return static_cast<sf_count_t>(size);
}

sf_count_t file_write(const void* source, sf_count_t count, void* user) {
  MemoryFile& file = file_of(user);
  const auto size = static_cast<size_t>(count);
  if (file.bytes.size() < file.at + size) file.bytes.resize(file.at + size);
  std::memcpy(file.bytes.data() + file.at, source, size);
  file.at += size;
  return count;
}

sf_count_t file_tell(void* user) { return static_cast<sf_count_t>(file_of(user).at); }

/// The clip's samples, or a single zero for an empty clip (a file of nothing is no file).
at::Tensor playable(const AudioClip& clip) {
  if (!clip.samples_S.defined() || clip.samples_S.numel() == 0) return at::zeros({1});
  return at::nan_to_num(clip.samples_S.to(at::kCPU, at::kFloat), 0.0, 1.0, -1.0)
      .clamp(-1, 1)
      .contiguous();
}

}  // namespace

std::string encode_audio(const AudioClip& clip, AudioEncoding encoding) {
  const at::Tensor samples_S = playable(clip);
  SF_VIRTUAL_IO io = {file_length, file_seek, file_read, file_write, file_tell};
  SF_INFO info = {};
  info.samplerate = static_cast<int>(clip.sample_rate_hz);
  info.channels = 1;
  const bool is_vorbis = encoding == AudioEncoding::kOggVorbis;
  info.format = is_vorbis ? SF_FORMAT_OGG | SF_FORMAT_VORBIS : SF_FORMAT_WAV | SF_FORMAT_PCM_16;
  MemoryFile memory;
  SNDFILE* file = sf_open_virtual(&io, SFM_WRITE, &info, &memory);
  S2S_ASSERT(file != nullptr, "libsndfile writes these formats at any rate in use");
  double quality = kVorbisQuality;
  if (is_vorbis) sf_command(file, SFC_SET_VBR_ENCODING_QUALITY, &quality, sizeof(quality));
  // In blocks: the Vorbis encoder keeps a whole write on the stack.
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

std::string to_base64(std::string_view bytes) {
  constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  const auto byte_at = [&](size_t i) -> uint32_t {
    return i < bytes.size() ? static_cast<unsigned char>(bytes[i]) : 0;
  };
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const uint32_t group = byte_at(i) << 16 | byte_at(i + 1) << 8 | byte_at(i + 2);
    out += kDigits[group >> 18];
    out += kDigits[group >> 12 & 63];
    out += i + 1 < bytes.size() ? kDigits[group >> 6 & 63] : '=';
    out += i + 2 < bytes.size() ? kDigits[group & 63] : '=';
  }
  return out;
}

std::string data_uri(const char* mime, std::string_view bytes) {
  return std::string("data:") + mime + ";base64," + to_base64(bytes);
}

}  // namespace s2s
