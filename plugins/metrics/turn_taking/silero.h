#pragma once
// Silero's voice activity detection, equal to the package silero-vad 6.2 (its versions 5 and 6 have
// the same network). Shape letters: S samples, N chunks of 512 samples, C channels, T frames.

#include <ATen/core/Tensor.h>

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "s2s/build_context.h"
#include "s2s/kinds/scorer.h"
#include "s2s/nn/block.h"
#include "s2s/speech_segment.h"
#include "turn_taking_options.h"

namespace s2s::turn_taking {

/// Samples from `begin` to before `end`.
struct SampleSpan {
  int64_t begin = 0;
  int64_t end = 0;
};

/// The network: the probability of speech in each chunk of 32 ms.
class SileroNetwork : public Block {
 public:
  static constexpr int64_t kRate_hz = 16000;
  static constexpr int64_t kChunk = 512;

  /// path: a file with the names of silero_vad_16k.safetensors, or of the state of the package's
  /// TorchScript module. Errors: [weights/mismatch] and
  /// others of s2s/nn/weights.h.
  explicit SileroNetwork(const std::string& path);
  ~SileroNetwork() override;
  /// samples [S] at 16 kHz -> [N]. The last chunk is filled with zeros.
  at::Tensor operator()(const at::Tensor& samples_S) const;

 private:
  at::Tensor& add(const std::string& name, const std::vector<int64_t>& sizes);
  at::Tensor features(const at::Tensor& chunk_1S) const;

  std::deque<at::Tensor> weights_;  // does not move its elements
  at::Tensor *stft_ = nullptr, *final_weight_ = nullptr, *final_bias_ = nullptr;
  std::vector<at::Tensor*> convolutions_;  // weight and bias of each
  std::vector<at::Tensor*> lstm_;          // input, hidden, their biases
};

/// Where speech is, by the probabilities of the chunks of `num_samples` samples at 16 kHz. Equal to
/// get_speech_timestamps of the package.
std::vector<SampleSpan> speech_spans(const std::vector<float>& probabilities, int64_t num_samples,
                                     const SileroOptions& options);

/// Finds speech in clips of any rate.
class Silero {
 public:
  /// Returns null without a path. `place`: of the options in the config.
  static std::unique_ptr<Silero> create(const SileroOptions& options, const BuildContext& context);
  Silero(const SileroOptions& options, const std::string& path);
  /// A clip without samples has no speech.
  std::vector<SampleSpan> spans(const AudioClip& clip) const;
  /// Samples of a clip at the network's rate.
  static int64_t num_samples(const AudioClip& clip);
  std::vector<SpeechSegment> operator()(const AudioClip& clip) const;

 private:
  SileroOptions options_;
  SileroNetwork network_;
};

}  // namespace s2s::turn_taking
