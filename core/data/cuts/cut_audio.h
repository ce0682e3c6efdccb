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

/// Safe to use from several threads; everything runs on the calling one.
class CutAudio {
 public:
  /// [C, S] float32 at the cut's rate, or as lhotse's cut.resample(rate).load_audio() gives it. Of
  /// a mix: as many channels as the track with the most (mono tracks go to all); its own transforms
  /// are applied to the mix at the asked rate (lhotse's resample drops them). Errors:
  /// [data/no-recording], [data/mix], [data/too-long], those of load_recording. Source: lhotse
  /// MonoCut, MultiCut, PaddingCut, MixedCut.load_audio.
  at::Tensor load(const Cut& cut, std::optional<int64_t> sample_rate_hz = {});

  /// [C, S] of the custom recording `name`: the cut's stretch of it, or all of it when the custom
  /// field NAME_unaligned is true; the channels that NAME_channel_selector names, or all. Of a mix:
  /// each audible track's at its offset, and silence elsewhere. Of what is not aligned at most
  /// `most_s` is read.
  /// Errors: [data/no-custom-audio], [data/too-long], those of load_recording.
  /// Source: lhotse load_custom. Of a mix whose tracks are parts of their recordings lhotse takes
  /// the whole recording of the only track; here it is the part.
  at::Tensor load_custom(const Cut& cut, const std::string& name,
                         std::optional<int64_t> sample_rate_hz = {},
                         std::optional<double> most_s = {});

  /// [C, S] of a recording or a part of it. Errors: those of load_recording.
  at::Tensor load(const Recording& recording, const RecordingPart& part, const std::string& place);

 private:
  at::Tensor load_mix(const Cut& mix, std::optional<int64_t> sample_rate_hz);
  at::Tensor load_custom_of_mix(const Cut& mix, const std::string& name,
                                std::optional<int64_t> sample_rate_hz);

  ResamplerBank resamplers_;
};

/// Whether the cut is longer than a day. No recording is that long, so the number in the manifest
/// is wrong, and the samples would fill the memory.
bool is_endless(const Cut& cut);
/// Call it before you create silence up to the end of the cut.
/// Errors: [data/too-long] when the cut is endless.
void check_length(const Cut& cut);

/// The mean of the channels: [C, S] -> [S].
at::Tensor mean_channel(const at::Tensor& audio_CS);

}  // namespace s2s::data
