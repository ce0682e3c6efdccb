#pragma once
// Loads the samples of cuts of every kind, as lhotse's load_audio and load_custom do.
// Shape letters: C channels, S samples.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <string>

#include "audio/resampler_bank.h"
#include "cuts/recording_audio.h"
#include "s2s/data/cuts.h"

namespace s2s::data {

/// Thread-safe. All work is done on the calling thread.
class CutAudio {
 public:
  /// Returns [C, S] float32 at the cut's rate, or at the given rate as lhotse's
  /// cut.resample(rate).load_audio() does. A mix has as many channels as the track with the most;
  /// mono tracks are added to all channels. The mix's own transforms are applied at the given rate
  /// (lhotse's resample drops them).
  /// Errors: [data/no-recording], [data/mix], [data/too-long], those of load_recording.
  /// Source: lhotse MonoCut, MultiCut, PaddingCut, MixedCut.load_audio.
  at::Tensor load(const Cut& cut, std::optional<int64_t> sample_rate_hz = {});

  /// Returns [C, S] of the custom recording `name`: the part that the cut covers, or all of it when
  /// the custom field NAME_unaligned is true. The channels are those that NAME_channel_selector
  /// names, or all. For a mix, the recording of each audible track is placed at the track's offset
  /// in silence. At most `most_s` is read of a recording that is not aligned.
  /// Errors: [data/no-custom-audio], [data/too-long], those of load_recording.
  /// Source: lhotse load_custom. One difference: for a mix with one track lhotse takes the whole
  /// recording; here it is the part that the track covers.
  at::Tensor load_custom(const Cut& cut, const std::string& name,
                         std::optional<int64_t> sample_rate_hz = {},
                         std::optional<double> most_s = {});

  /// Returns [C, S] of a recording or of a part of it. Errors: those of load_recording.
  at::Tensor load(const Recording& recording, const RecordingPart& part, const std::string& place);

 private:
  at::Tensor load_mix(const Cut& mix, std::optional<int64_t> sample_rate_hz);
  at::Tensor load_custom_of_mix(const Cut& mix, const std::string& name,
                                std::optional<int64_t> sample_rate_hz);

  ResamplerBank resamplers_;
};

/// Whether the cut is longer than a day. No recording is that long, so the manifest must be wrong,
/// and the samples would fill the memory.
bool is_endless(const Cut& cut);
/// To be called before silence is created up to the end of the cut.
/// Errors: [data/too-long] when the cut is endless.
void check_length(const Cut& cut);

/// Returns the mean of the channels: [C, S] -> [S].
at::Tensor mean_channel(const at::Tensor& audio_CS);

}  // namespace s2s::data
