#include "loader/augment_batch.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>
#include <utility>

#include "audio/audio_reader.h"
#include "audio/effects.h"
#include "base/fnv.h"
#include "loader/loader_errors.h"
#include "s2s/data/resample.h"
#include "streams/source_files.h"

namespace s2s::data {
namespace {

constexpr double kSmallPower = 1e-8;
constexpr double kLowPassHz = 1000;
constexpr int64_t kLowPassOrder = 5;
constexpr double kLoudnessBlock_s = 0.4;
constexpr float kMostGain = 10;

/// Reads all samples of a file as mono [S], at `rate_hz` unless `keeps_rate` is set.
at::Tensor read_mono(const std::string& path, int64_t rate_hz, bool keeps_rate) {
  try {
    AudioReader reader(path);
    const at::Tensor mono_S = reader.read().mean(0);
    const int64_t from_hz = reader.info().sample_rate_hz;
    return keeps_rate || from_hz == rate_hz ? mono_S : resample(mono_S, from_hz, rate_hz);
  } catch (const std::runtime_error& error) {
    throw loader_errors::augmentation_audio(path, error.what());
  }
}

const std::string& drawn(const std::vector<std::string>& files, AugmentationDraws& draws) {
  return files[draws.python.choice(files.size())];
}

/// Returns the factor that gives `noise` the ratio `snr_db` to `signal`.
at::Tensor noise_factor(at::Tensor signal_S, at::Tensor noise_S, double snr_db, int64_t measured) {
  if (measured > 0) {
    signal_S = signal_S.slice(0, 0, measured);
    noise_S = noise_S.slice(0, 0, measured);
  }
  const at::Tensor wanted = (signal_S.square().mean() + kSmallPower) / std::pow(10.0, snr_db / 10);
  return at::sqrt(wanted / (noise_S.square().mean() + kSmallPower));
}

/// Cuts a random stretch of the noise or repeats it, so that it has `length` samples: [S].
at::Tensor as_long_as(const at::Tensor& noise_N, int64_t length, AugmentationDraws& draws) {
  const int64_t own = noise_N.size(0);
  if (own < length) return noise_N.repeat({length / own + 1}).slice(0, 0, length);
  const int64_t start = at::randint(0, own - length + 1, {1}, draws.torch).item<int64_t>();
  return noise_N.slice(0, start, start + length);
}

std::optional<double> loudness_of(const at::Tensor& audio_S, int64_t rate_hz) {
  const auto shortest = kLoudnessBlock_s * static_cast<double>(rate_hz);
  if (static_cast<double>(audio_S.size(0)) < shortest) return std::nullopt;
  const double loudness = measure_loudness(audio_S.unsqueeze(0), rate_hz, kLoudnessBlock_s);
  return std::isfinite(loudness) ? std::optional(loudness) : std::nullopt;
}

float root_mean_square(const at::Tensor& audio_S) {
  return at::sqrt(audio_S.square().mean()).item<float>() + static_cast<float>(kSmallPower);
}

/// Scales `wet` to the loudness of `dry`. `loudness` is that of `dry`; without it, the root mean
/// square is the measure.
at::Tensor as_loud_as(const at::Tensor& wet_S, const at::Tensor& dry_S,
                      std::optional<double> loudness, int64_t rate_hz) {
  const std::optional<double> own = loudness ? loudness_of(wet_S, rate_hz) : std::nullopt;
  if (own) return (wet_S.to(at::kDouble) * std::pow(10.0, (*loudness - *own) / 20)).to(at::kFloat);
  return wet_S * std::min(root_mean_square(dry_S) / root_mean_square(wet_S), kMostGain);
}

/// Lists the files *.wav in `folder` or in its subfolders, sorted by name.
std::vector<std::string> wave_files(const std::filesystem::path& folder, bool in_folders) {
  std::vector<std::string> files;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
    if (in_folders && entry.is_directory()) {
      const auto inner = wave_files(entry.path(), false);
      files.insert(files.end(), inner.begin(), inner.end());
    } else if (!in_folders && entry.path().extension() == ".wav" &&
               !entry.path().filename().string().starts_with('.')) {
      files.push_back(entry.path().string());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

struct FilesOfKey {
  bool is_on;
  const std::optional<std::string>& path;
  std::string use_key, path_key;
  bool in_folders;
};

std::vector<std::string> list_files(const FilesOfKey& key, const DataContext& context) {
  if (!key.is_on) return {};
  if (!key.path) {
    if (context.warn) {
      context.warn(fmt::format("data.{} changes nothing: data.{} names no folder", key.use_key,
                               key.path_key));
    }
    return {};
  }
  const std::string folder = path_from(context.base_dir, *key.path);
  std::vector<std::string> files = wave_files(folder, key.in_folders);
  if (files.empty()) {
    throw loader_errors::augmentation_files("data." + key.path_key, folder, key.in_folders);
  }
  return files;
}

}  // namespace

AugmentationDraws::AugmentationDraws(int64_t seed)
    : python(seed), torch(at::detail::createCPUGenerator(static_cast<uint64_t>(seed))) {}

void add_noise(at::Tensor& audio_BS, const std::vector<std::string>& files, double snr_db,
               const UserAudioAugmentation& options, int64_t sample_rate_hz,
               AugmentationDraws& draws) {
  const auto measured =
      static_cast<int64_t>(options.snr_measure_dur * static_cast<double>(sample_rate_hz));
  for (int64_t b = 0; b < audio_BS.size(0); ++b) {
    at::Tensor row_S = audio_BS[b];
    if (draws.python.random() < options.noise_prob_scale_user) {
      const int64_t own_snr =
          draws.python.randint(static_cast<int64_t>(options.noise_prob_scale_user_min_snr),
                               static_cast<int64_t>(options.noise_prob_scale_user_max_snr));
      row_S.mul_(noise_factor(row_S, row_S, static_cast<double>(own_snr), measured));
    }
    std::vector<at::Tensor> pieces;
    for (int i = 0; i < 3; ++i) {
      const at::Tensor noise_N =
          read_mono(drawn(files, draws), sample_rate_hz, !options.noise_resample);
      pieces.push_back(noise_N * noise_factor(row_S, noise_N, snr_db, measured));
    }
    at::Tensor noise_S = as_long_as(at::cat(pieces), audio_BS.size(1), draws);
    if (draws.python.random() < options.noise_prob_low_pass) {
      noise_S = low_pass(noise_S, kLowPassHz, sample_rate_hz, kLowPassOrder);
    }
    row_S.add_(noise_S);
  }
}

void convolve_rows(at::Tensor& audio_BS, const at::Tensor& lens_B,
                   const std::vector<std::string>& files, bool by_loudness, int64_t sample_rate_hz,
                   AugmentationDraws& draws) {
  for (int64_t b = 0; b < audio_BS.size(0); ++b) {
    const at::Tensor response_N = read_mono(drawn(files, draws), sample_rate_hz, false);
    at::Tensor row_S = audio_BS[b].slice(0, 0, lens_B[b].item<int64_t>());
    if (row_S.size(0) == 0) continue;
    const auto loudness = by_loudness ? loudness_of(row_S, sample_rate_hz) : std::nullopt;
    // As in NeMo, after one silent or short row the rest of the rows use the root mean square.
    by_loudness = loudness.has_value();
    const at::Tensor wet_S = convolve(row_S, response_N).slice(0, 0, row_S.size(0));
    row_S.copy_(as_loud_as(wet_S, row_S, loudness, sample_rate_hz).clamp(-1, 1));
  }
}

BatchAugmenter::BatchAugmenter(const DuplexDataOptions& options, const DataContext& context,
                               const SpecialIds& ids)
    : options_(options.augmentation),
      rules_{ids, options.augmentation.early_interruption_overlap_tokens, options.frame_length,
             options.source_sample_rate},
      seed_(fnv1a(fmt::format("augmentation {} {}", context.path, context.seed))) {
  const UserAudioAugmentation& o = options_;
  noises_ = list_files({o.use_noise_aug && o.noise_prob > 0, o.noise_aug_path, "use_noise_aug",
                        "noise_aug_path", true},
                       context);
  rooms_ = list_files({o.use_room_ir_aug && o.roomir_prob > 0, o.roomir_aug_path, "use_room_ir_aug",
                       "roomir_aug_path", false},
                      context);
  microphones_ = list_files({o.use_mic_ir_aug && o.micir_prob > 0, o.micir_aug_path,
                             "use_mic_ir_aug", "micir_aug_path", false},
                            context);
  if (o.early_interruption_prob > 0 && options.agent_audio) {
    throw loader_errors::early_interruption();
  }
}

void BatchAugmenter::apply(Batch& batch, const Place& place) const {
  AugmentationDraws draws(static_cast<int64_t>(fnv1a(fmt::format("{}", place.index), seed_) >> 1U));
  apply(batch, place.task, draws);
}

void BatchAugmenter::apply(Batch& batch, const std::string& task, AugmentationDraws& draws) const {
  const bool keeps_audio = task == "asr" || task == "s2s_duplex_overlap_as_s2s_duplex";
  if (options_.force_use_noise_augmentation || !keeps_audio) change_audio(batch, draws);
  if (options_.early_interruption_prob <= 0) return;
  for (int64_t b = 0; b < batch.target_tokens_BT.size(0); ++b) {
    if (draws.python.random() >= options_.early_interruption_prob) continue;
    interrupt_early(batch, b, rules_, draws);
  }
}

void BatchAugmenter::change_audio(Batch& batch, AugmentationDraws& draws) const {
  const int64_t rate_hz = rules_.sample_rate_hz;
  const UserAudioAugmentation& o = options_;
  if (!noises_.empty() && draws.python.random() < o.noise_prob) {
    const int64_t snr_db = draws.python.randint(o.noise_min_snr, o.noise_max_snr);
    add_noise(batch.source_audio_BS, noises_, static_cast<double>(snr_db), o, rate_hz, draws);
  }
  if (!rooms_.empty() && draws.python.random() < o.roomir_prob) {
    convolve_rows(batch.source_audio_BS, batch.source_audio_lens_B, rooms_,
                  o.roomir_use_loudness_norm, rate_hz, draws);
  }
  if (!microphones_.empty() && draws.python.random() < o.micir_prob) {
    convolve_rows(batch.source_audio_BS, batch.source_audio_lens_B, microphones_,
                  o.micir_use_loudness_norm, rate_hz, draws);
  }
}

}  // namespace s2s::data
