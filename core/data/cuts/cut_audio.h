#pragma once
// Samples of cuts of every kind, as lhotse's load_audio and load_custom give them.
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

  /// [1, S]: all channels of all tracks added up, as lhotse's load_audio(mono_downmix=True) of a
  /// mix with a track of several channels. Other cuts and mixes: as load.
  at::Tensor load_added_up(const Cut& cut, std::optional<int64_t> sample_rate_hz = {});

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
  at::Tensor load_mix(const Cut& mix, std::optional<int64_t> sample_rate_hz, bool adds_up);
  at::Tensor load_custom_of_mix(const Cut& mix, const std::string& name,
                                std::optional<int64_t> sample_rate_hz);

  ResamplerBank resamplers_;
};

/// Longer than what is recorded, a day: its samples or frames would fill the memory, and nothing
/// but a number in the manifest asks for them.
bool is_endless(const Cut& cut);
/// Before silence is made that ends with the cut. Errors: [data/too-long] when it is endless.
void check_length(const Cut& cut);

/// Sums the channels of [C, S] up and divides by their number: [S].
at::Tensor mean_channel(const at::Tensor& audio_CS);

}  // namespace s2s::data
