#include "silero.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <tuple>

#include "s2s/data/resample.h"
#include "s2s/nn/weights.h"

namespace s2s::turn_taking {
namespace {

constexpr int64_t kContext = 64;  // samples of the chunk before, and mirrored ones at the end
constexpr int64_t kHop = 128;     // of the transform
constexpr int64_t kBins = 129;
constexpr int64_t kWidth = 128;

struct Convolution {
  const char* name;
  int64_t in, out, stride;
};
constexpr Convolution kConvolutions[] = {{"conv1", kBins, 128, 1},
                                         {"conv2", 128, 64, 2},
                                         {"conv3", 64, 64, 2},
                                         {"conv4", 64, kWidth, 1}};

/// Names of silero_vad_16k.safetensors; also those of the package's TorchScript module.
NameMap weight_names() {
  NameMap names = {{{"**", "**"}}, {"_model_8k.**"}};
  const auto also = [&](const std::string& ours, const std::string& theirs) {
    names.other_spellings.push_back({ours, "_model." + theirs});
  };
  also("stft_conv.weight", "stft.forward_basis_buffer");
  for (size_t i = 0; i < std::size(kConvolutions); ++i) {
    also(std::string(kConvolutions[i].name) + ".*",
         "encoder." + std::to_string(i) + ".reparam_conv.*");
  }
  also("lstm_cell.*", "decoder.rnn.*");
  also("final_conv.*", "decoder.decoder.2.*");
  return names;
}

int64_t samples_of(int64_t duration_ms) { return duration_ms * SileroNetwork::kRate_hz / 1000; }

}  // namespace

SileroNetwork::SileroNetwork(const std::string& path) {
  stft_ = &add("stft_conv.weight", {2 * kBins, 1, 256});
  for (const Convolution& conv : kConvolutions) {
    const std::string name = conv.name;
    convolutions_.push_back(&add(name + ".weight", {conv.out, conv.in, 3}));
    convolutions_.push_back(&add(name + ".bias", {conv.out}));
  }
  for (const char* const name : {"weight_ih", "weight_hh"}) {
    lstm_.push_back(&add(std::string("lstm_cell.") + name, {4 * kWidth, kWidth}));
  }
  for (const char* const name : {"bias_ih", "bias_hh"}) {
    lstm_.push_back(&add(std::string("lstm_cell.") + name, {4 * kWidth}));
  }
  final_weight_ = &add("final_conv.weight", {1, kWidth, 1});
  final_bias_ = &add("final_conv.bias", {1});
  load_weights(*this, weight_names(), WeightFiles::open(path));
}

SileroNetwork::~SileroNetwork() = default;

at::Tensor& SileroNetwork::add(const std::string& name, const std::vector<int64_t>& sizes) {
  weights_.push_back(at::empty(sizes, at::kFloat));
  register_buffer(name, weights_.back());
  return weights_.back();
}

/// A chunk with the samples before it -> [1, C].
at::Tensor SileroNetwork::features(const at::Tensor& chunk_1S) const {
  const at::Tensor padded_11S = at::reflection_pad1d(chunk_1S.unsqueeze(1), {0, kContext});
  const at::Tensor waves_1CT = at::conv1d(padded_11S, *stft_, {}, kHop);
  at::Tensor x_1CT =
      (waves_1CT.narrow(1, 0, kBins).square() + waves_1CT.narrow(1, kBins, kBins).square()).sqrt();
  for (size_t i = 0; i < std::size(kConvolutions); ++i) {
    x_1CT = at::relu(at::conv1d(x_1CT, *convolutions_[2 * i], *convolutions_[2 * i + 1],
                                kConvolutions[i].stride, /*padding=*/1));
  }
  return x_1CT.squeeze(2);
}

/// Chunk by chunk, as the package: together, chunks would be rounded otherwise.
at::Tensor SileroNetwork::operator()(const at::Tensor& samples_S) const {
  const at::NoGradGuard no_grad;
  const int64_t count = (samples_S.size(0) + kChunk - 1) / kChunk;
  const at::Tensor padded_S = at::constant_pad_nd(samples_S.to(at::kCPU, at::kFloat),
                                                  {kContext, count * kChunk - samples_S.size(0)});
  at::Tensor hidden_1C = at::zeros({1, kWidth}), cell_1C = at::zeros({1, kWidth});
  const at::Tensor found_N = at::empty({count}, at::kFloat);
  for (int64_t i = 0; i < count; ++i) {
    const at::Tensor chunk_1S = padded_S.narrow(0, i * kChunk, kContext + kChunk).unsqueeze(0);
    std::tie(hidden_1C, cell_1C) = at::lstm_cell(features(chunk_1S), {hidden_1C, cell_1C},
                                                 *lstm_[0], *lstm_[1], *lstm_[2], *lstm_[3]);
    const at::Tensor logit =
        at::conv1d(at::relu(hidden_1C.unsqueeze(2)), *final_weight_, *final_bias_);
    found_N[i] = at::sigmoid(logit).item<float>();
  }
  return found_N;
}

std::vector<SampleSpan> speech_spans(const std::vector<float>& probabilities, int64_t num_samples,
                                     const SileroOptions& options) {
  const double start_at = options.threshold;
  const double end_below = options.neg_threshold.value_or(std::max(start_at - 0.15, 0.01));
  const int64_t shortest = samples_of(options.min_speech_duration_ms);
  std::vector<SampleSpan> spans;
  int64_t begin = -1, end = -1;  // of the speech, and of what may be its end; -1: none
  const auto add = [&](int64_t to) {
    if (to - begin > shortest) spans.push_back({begin, to});
    begin = end = -1;
  };
  for (size_t i = 0; i < probabilities.size(); ++i) {
    const auto here = static_cast<int64_t>(i) * SileroNetwork::kChunk;
    const auto probability = static_cast<double>(probabilities[i]);
    if (probability >= start_at) {
      end = -1;
      if (begin < 0) {
        begin = here;
        continue;
      }
    }
    if (probability >= end_below || begin < 0) continue;
    if (end < 0) end = here;
    if (here - end >= samples_of(options.min_silence_duration_ms)) add(end);
  }
  if (begin >= 0) add(num_samples);
  const int64_t pad = samples_of(options.speech_pad_ms);
  for (size_t i = 0; i < spans.size(); ++i) {
    if (i == 0) spans[i].begin = std::max<int64_t>(0, spans[i].begin - pad);
    if (i + 1 == spans.size()) {
      spans[i].end = std::min(num_samples, spans[i].end + pad);
      continue;
    }
    const int64_t silence = spans[i + 1].begin - spans[i].end;
    const int64_t added = silence < 2 * pad ? silence / 2 : pad;
    spans[i].end += added;
    spans[i + 1].begin -= added;
  }
  return spans;
}

std::unique_ptr<Silero> Silero::create(const SileroOptions& options, const BuildContext& context) {
  if (!options.path) return nullptr;
  return std::make_unique<Silero>(options, resolve_path(*options.path, context.base_dir));
}

Silero::Silero(const SileroOptions& options, const std::string& path)
    : options_(options), network_(path) {}

std::vector<SampleSpan> Silero::spans(const AudioClip& clip) const {
  if (!clip.samples_S.defined() || clip.samples_S.numel() == 0) return {};
  const at::Tensor samples_S = resample(clip.samples_S.to(at::kCPU, at::kFloat),
                                        clip.sample_rate_hz, SileroNetwork::kRate_hz);
  const at::Tensor probabilities_N = network_(samples_S).contiguous();
  const float* const first = probabilities_N.const_data_ptr<float>();
  return speech_spans({first, first + probabilities_N.numel()}, samples_S.size(0), options_);
}

int64_t Silero::num_samples(const AudioClip& clip) {
  return Resampler(clip.sample_rate_hz, SileroNetwork::kRate_hz)
      .num_samples(clip.samples_S.numel());
}

std::vector<SpeechSegment> Silero::operator()(const AudioClip& clip) const {
  constexpr auto kRate = static_cast<double>(SileroNetwork::kRate_hz);
  std::vector<SpeechSegment> segments;
  for (const SampleSpan& span : spans(clip)) {
    segments.push_back(
        {static_cast<double>(span.begin) / kRate, static_cast<double>(span.end) / kRate});
  }
  return segments;
}

}  // namespace s2s::turn_taking
