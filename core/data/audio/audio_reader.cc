#include "audio/audio_reader.h"

#include <ATen/Functions.h>
#include <sndfile.h>

#include <algorithm>
#include <stdexcept>

#include "audio/audio_bytes.h"
#include "audio/audio_format.h"

namespace s2s::data {
namespace {

/// The length that libsndfile reports for files whose header has no length.
constexpr int64_t kUnknownLength = int64_t{1} << 60;
/// Samples that are decoded before the requested ones. A frame of MP3 (1152 samples) may use bits
/// of many earlier frames; libsndfile's own run-up of four frames is too short after quiet
/// passages.
constexpr int64_t kMp3RunUp = 24 * 1152;

/// Limits of rates, because the memory of resampling grows with the ratio of two rates.
constexpr int kLowestRate_hz = 1'000, kHighestRate_hz = 768'000;

void require_usual_rate(int rate_hz) {
  if (rate_hz >= kLowestRate_hz && rate_hz <= kHighestRate_hz) return;
  throw std::runtime_error("its sample rate is " + std::to_string(rate_hz) + " Hz, and only " +
                           std::to_string(kLowestRate_hz) + " to " +
                           std::to_string(kHighestRate_hz) + " Hz are read");
}

std::string cut_off(int64_t num_promised, int64_t num_there) {
  return "it is cut off: of " + std::to_string(num_promised) + " samples " +
         std::to_string(num_there) + " are there";
}

}  // namespace

struct AudioReader::Handle {
  explicit Handle(SNDFILE* opened) : file(opened) {}
  ~Handle() { sf_close(file); }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  SNDFILE* file;
};

AudioReader::AudioReader(const std::string& path) : bytes_(bytes_of_file(path)) { open(); }

AudioReader::AudioReader(const std::string& path, int64_t begin, int64_t end)
    : bytes_(bytes_of_file(path, begin, end)) {
  open();
}

AudioReader::AudioReader(std::shared_ptr<const std::string> bytes, bool is_headerless_gsm)
    : bytes_(bytes_of_memory(std::move(bytes))) {
  open(is_headerless_gsm);
}

AudioReader::~AudioReader() = default;

void AudioReader::open(bool is_headerless_gsm) {
  if (bytes_->size() == 0) throw std::runtime_error("it has zero bytes");
  SF_INFO info{};
  if (is_headerless_gsm) {
    info.samplerate = 8000;
    info.channels = 1;
    info.format = SF_FORMAT_RAW | SF_FORMAT_GSM610;
  }
  SNDFILE* const file = bytes_->open(info);
  handle_ = std::make_unique<Handle>(file);
  require_usual_rate(info.samplerate);
  info_ = {info.samplerate, info.frames, info.channels,
           std::max<int64_t>(info.frames, promised_wave_samples(*bytes_)),
           audio_format_name(info.format)};
  if (info_.num_samples > kUnknownLength) count_samples();
}

/// Counts the samples by decoding to the end.
void AudioReader::count_samples() {
  constexpr int64_t kAtOnce = 65536;
  const at::Tensor block = at::empty({kAtOnce * info_.num_channels}, at::kFloat);
  int64_t count = 0, got = 0;
  while ((got = sf_readf_float(handle_->file, block.data_ptr<float>(), kAtOnce)) > 0) count += got;
  info_.num_samples = info_.num_promised = count;
  SF_INFO again{};
  handle_.reset();
  handle_ = std::make_unique<Handle>(bytes_->open(again));
}

void AudioReader::seek(int64_t first) {
  if (first == position_) return;
  const int64_t run_up = info_.format == "mp3" ? std::min(first, kMp3RunUp) : 0;
  if (sf_seek(handle_->file, first - run_up, SEEK_SET) != first - run_up) {
    throw std::runtime_error(sf_strerror(handle_->file));
  }
  position_ = first;
  if (run_up == 0) return;
  const at::Tensor before = at::empty({run_up * info_.num_channels}, at::kFloat);
  sf_readf_float(handle_->file, before.data_ptr<float>(), run_up);
}

at::Tensor AudioReader::read(int64_t first, int64_t count) {
  count = std::max<int64_t>(count, 0);
  if (info_.num_promised > info_.num_samples && first + count > info_.num_samples) {
    throw std::runtime_error(cut_off(info_.num_promised, info_.num_samples));
  }
  count = std::clamp<int64_t>(info_.num_samples - first, 0, count);
  const at::Tensor samples_SC = at::empty({count, info_.num_channels}, at::kFloat);
  if (count == 0) return samples_SC.t();
  seek(first);
  const int64_t got = sf_readf_float(handle_->file, samples_SC.data_ptr<float>(), count);
  position_ = first + got;
  const std::string trouble =
      sf_error(handle_->file) == SF_ERR_NO_ERROR ? "" : sf_strerror(handle_->file);
  if (got < count) {
    throw std::runtime_error(cut_off(info_.num_promised, first + got) +
                             (trouble.empty() ? "" : " (" + trouble + ")"));
  }
  if (!trouble.empty()) throw std::runtime_error(trouble);
  return samples_SC.t();
}

}  // namespace s2s::data
