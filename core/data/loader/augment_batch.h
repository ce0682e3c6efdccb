#pragma once
// Augments whole training batches as NeMo's DuplexSTTDataset does. It adds noise, rooms and
// microphones to the user's audio, and lets the user interrupt turns of the agent.
// Shape letters: B batch, S samples, T frames.

#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "s2s/batch.h"
#include "s2s/build_context.h"
#include "s2s/data/duplex_data.h"
#include "streams/python_random.h"

namespace s2s::data {

/// The generators that random choices come from: Python's `random` and torch's CPU generator.
struct AugmentationDraws {
  explicit AugmentationDraws(int64_t seed);
  PythonRandom python;
  at::Generator torch;
};

/// Adds noise of random `files` to each row, its padding included, with a signal-to-noise ratio of
/// `snr_db`. Some rows first get another volume (options.noise_prob_scale_user).
/// Errors: [data/unreadable-audio].
/// Source: NeMo speechlm2 parts/augmentation.py add_noise_to_batch.
void add_noise(at::Tensor& audio_BS, const std::vector<std::string>& files, double snr_db,
               const UserAudioAugmentation& options, int64_t sample_rate_hz,
               AugmentationDraws& draws);

/// Convolves each row with the impulse response of a random file and then restores its loudness.
/// With `by_loudness`, loudness is that of ITU-R BS.1770; otherwise it is the root mean square.
/// `lens_B`: int64 on the CPU.
/// Errors: [data/unreadable-audio].
/// Source: NeMo speechlm2 parts/augmentation.py add_room_ir_to_batch, add_mic_ir_to_batch.
void convolve_rows(at::Tensor& audio_BS, const at::Tensor& lens_B,
                   const std::vector<std::string>& files, bool by_loudness, int64_t sample_rate_hz,
                   AugmentationDraws& draws);

/// Ids and times that interrupt_early needs.
struct InterruptionRules {
  SpecialIds ids;
  int64_t overlap_tokens = 13;
  double frame_length_s = 0.08;
  int64_t sample_rate_hz = 16000;
};

/// Ends one turn of the agent in row `b` early, as if the user had interrupted it. The user goes on
/// speaking for `overlap_tokens` frames before the agent's EOS, and everything after the turn moves
/// forward. A row without a turn that is long enough is unchanged.
/// Source: NeMo duplex_stt_dataset.py _apply_early_interruption_augmentation.
void interrupt_early(Batch& batch, int64_t b, const InterruptionRules& rules,
                     AugmentationDraws& draws);

class BatchAugmenter {
 public:
  /// Lists the files of noise and of impulse responses. `context` gives the path of the options for
  /// messages, the folder of relative paths and the seed.
  /// Errors: [data/augmentation-files], [data/early-interruption].
  BatchAugmenter(const DuplexDataOptions& options, const DataContext& context,
                 const SpecialIds& ids);

  /// Identifies a batch. What is drawn for a batch depends only on the seed and `index`.
  struct Place {
    int64_t index = 0;  // in the order of batches of all ranks
    std::string task;   // of its first cut; audio is unchanged for tasks of recognition and overlap
  };
  /// Changes a batch in place. Thread-safe. Errors: those of reading files.
  void apply(Batch& batch, const Place& place) const;
  /// Source: NeMo AudioAugmenter.augment_batch, DuplexSTTDataset.__getitem__.
  void apply(Batch& batch, const std::string& task, AugmentationDraws& draws) const;

 private:
  void change_audio(Batch& batch, AugmentationDraws& draws) const;

  UserAudioAugmentation options_;
  InterruptionRules rules_;
  uint64_t seed_ = 0;
  std::vector<std::string> noises_, rooms_, microphones_;
};

}  // namespace s2s::data
