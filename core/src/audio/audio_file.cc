#include "audio/audio_file.h"

#include <ATen/Functions.h>
#include <sndfile.h>

#include <algorithm>
#include <stdexcept>

namespace s2s::data {

struct AudioFileReader::Handle {
  explicit Handle(SNDFILE* opened) : file(opened) {}
  ~Handle() { sf_close(file); }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  SNDFILE* file;
};

AudioFileReader::AudioFileReader(const std::string& path) {
  SF_INFO info{};
  SNDFILE* file = sf_open(path.c_str(), SFM_READ, &info);
  if (file == nullptr) throw std::runtime_error(sf_strerror(nullptr));
  handle_ = std::make_unique<Handle>(file);
  info_ = {info.samplerate, info.frames, info.channels};
}

AudioFileReader::~AudioFileReader() = default;

at::Tensor AudioFileReader::read(int64_t first, int64_t count) {
  count = std::clamp<int64_t>(info_.num_samples - first, 0, std::max<int64_t>(count, 0));
  const at::Tensor samples_SC = at::empty({count, info_.num_channels}, at::kFloat);
  if (count == 0) return samples_SC.t();
  if (first > 0 && sf_seek(handle_->file, first, SEEK_SET) != first) {
    throw std::runtime_error(sf_strerror(handle_->file));
  }
  const int64_t got = sf_readf_float(handle_->file, samples_SC.data_ptr<float>(), count);
  if (sf_error(handle_->file) != SF_ERR_NO_ERROR) {
    throw std::runtime_error(sf_strerror(handle_->file));
  }
  if (got < count) {  // a header that says more than there is
    throw std::runtime_error("it is cut off: of " + std::to_string(info_.num_samples) +
                             " samples " + std::to_string(first + got) + " are there");
  }
  return samples_SC.t();
}

}  // namespace s2s::data
