#include "cuts/cut_audio.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "audio/audio_mixer.h"
#include "base/fnv.h"
#include "cuts/cuts_errors.h"
#include "cuts/mixed_cut.h"
#include "s2s/data/frames.h"

namespace s2s::data {
namespace {

/// Returns the track whose energy is the reference of signal-to-noise ratios.
/// Source: lhotse _get_snr_reference_track.
const MixTrack* reference_track(const Cut& mix) {
  for (const MixTrack& track : mix.tracks) {
    if (track.is_snr_reference) return &track;
  }
  for (const MixTrack& track : mix.tracks) {
    if (track.cut->kind != Cut::Kind::kPadding && !track.snr_db) return &track;
  }
  return nullptr;
}

/// Brings the mix to the length of its duration. Rounding may make it a sample longer or shorter;
/// differences up to half a second are corrected.
at::Tensor fixed(const Cut& mix, const at::Tensor& audio_CS, int64_t rate, bool reflects) {
  const int64_t count = compute_num_samples(mix.duration_s, rate);
  const int64_t missing = count - audio_CS.size(1);
  if (missing == 0) return audio_CS;
  if (std::abs(missing) >= compute_num_samples(duration_tolerance_s(), rate)) {
    throw cuts_errors::mix(mix.place(), "its tracks end after " + std::to_string(audio_CS.size(1)) +
                                            " samples, its duration has " + std::to_string(count));
  }
  if (missing > 0 && !reflects) return at::constant_pad_nd(audio_CS, {0, missing});
  return fit_length(audio_CS, count);
}

constexpr double kLongest_s = 24 * 3600;

void add(AudioMixer& mixer, const Cut& mix, const MixTrack& track, at::Tensor audio_CS,
         int64_t rate) {
  if (audio_CS.size(1) == 0) return;
  if (track.offset_s < 0) throw cuts_errors::mix(mix.place(), "a track's offset is below 0");
  if (!(track.offset_s <= kLongest_s)) {
    throw cuts_errors::mix(mix.place(), "silence of more than a day is asked for");
  }
  try {
    mixer.add(std::move(audio_CS), compute_num_samples(track.offset_s, rate));
  } catch (const std::runtime_error& error) {
    throw cuts_errors::mix(mix.place(), error.what());
  }
}

/// The rate of the audio that `load` returns.
int64_t rate_of(const Cut& cut) {
  if (cut.kind == Cut::Kind::kMixed) return rate_of(*first_data_track(cut).cut);
  if (cut.kind == Cut::Kind::kPadding) return cut.padding ? cut.padding->sample_rate_hz : 0;
  return cut.recording ? cut.recording->sample_rate_hz : 0;
}

/// Throws unless every audible track has the mix's rate.
void check_rates(const Cut& mix, int64_t rate) {
  for (const MixTrack* track : audible_tracks(mix)) {
    const int64_t own = rate_of(*track->cut);
    if (own == 0 || own == rate || track->cut->kind == Cut::Kind::kPadding) continue;
    throw cuts_errors::mix(mix.place(), "it mixes cuts of " + std::to_string(rate) + " and of " +
                                            std::to_string(own) + " Hz");
  }
}

}  // namespace

bool is_endless(const Cut& cut) { return !(cut.duration_s <= kLongest_s); }

void check_length(const Cut& cut) {
  if (is_endless(cut)) throw cuts_errors::endless(cut);
}

at::Tensor mean_channel(const at::Tensor& audio_CS) {
  return audio_CS.size(0) == 1 ? audio_CS[0].contiguous() : audio_CS.mean(0);
}

at::Tensor CutAudio::load(const Recording& recording, const RecordingPart& part,
                          const std::string& place) {
  return load_recording(recording, part, place, resamplers_);
}

at::Tensor CutAudio::load(const Cut& cut, std::optional<int64_t> sample_rate_hz) {
  if (cut.kind == Cut::Kind::kMixed) return load_mix(cut, sample_rate_hz);
  if (cut.kind == Cut::Kind::kPadding) {
    const int64_t rate = sample_rate_hz.value_or(rate_of(cut));
    check_length(cut);
    return at::zeros({1, compute_num_samples(cut.duration_s, rate)}, at::kFloat);
  }
  if (!cut.recording) throw cuts_errors::no_recording(cut);
  const RecordingPart part = {{cut.start_s, cut.duration_s}, cut.channels};
  if (!sample_rate_hz || *sample_rate_hz == cut.recording->sample_rate_hz) {
    return load(*cut.recording, part, cut.place());
  }
  return load(resampled(*cut.recording, *sample_rate_hz), part, cut.place());
}

at::Tensor CutAudio::load_mix(const Cut& mix, std::optional<int64_t> sample_rate_hz) {
  const std::vector<const MixTrack*> tracks = audible_tracks(mix);
  const int64_t rate = sample_rate_hz.value_or(rate_of(mix));
  if (!sample_rate_hz) check_rates(mix, rate);
  const MixTrack* const reference = reference_track(mix);
  at::Tensor reference_CS;
  if (std::any_of(tracks.begin(), tracks.end(), [](const auto* t) { return t->snr_db; })) {
    if (reference == nullptr) {
      throw cuts_errors::mix(mix.place(), "no track can be the reference of its ratios");
    }
    reference_CS = load(*reference->cut, sample_rate_hz);
  }
  const double energy = reference_CS.defined() ? audio_energy(reference_CS) : 0;
  AudioMixer mixer;
  for (const MixTrack* track : tracks) {
    at::Tensor audio_CS = track == reference && reference_CS.defined()
                              ? reference_CS
                              : load(*track->cut, sample_rate_hz);
    // If the reference is the first track, it is not scaled.
    const bool is_scaled = track->snr_db && (track != tracks.front() || track != reference);
    if (is_scaled) audio_CS = at_ratio(audio_CS, *track->snr_db, energy);
    add(mixer, mix, *track, std::move(audio_CS), rate);
  }
  at::Tensor audio_CS = fixed(mix, mixer.mixed(), rate, /*reflects=*/true);
  if (mix.transforms.empty()) return audio_CS;
  const auto load_response = [&](const nlohmann::json& manifest,
                                 const std::vector<int64_t>& channels,
                                 std::optional<double> duration_s) {
    return load_impulse_response(manifest, channels, duration_s, mix.place(), resamplers_);
  };
  return apply_transforms(mix.transforms, audio_CS,
                          {rate, mix.place(), fnv1a(mix.id), resamplers_, load_response});
}

at::Tensor CutAudio::load_custom(const Cut& cut, const std::string& name,
                                 std::optional<int64_t> sample_rate_hz,
                                 std::optional<double> most_s) {
  if (cut.kind == Cut::Kind::kMixed) return load_custom_of_mix(cut, name, sample_rate_hz);
  const Recording* const found = cut.find_recording(name);
  if (found == nullptr) throw cuts_errors::no_custom(cut, name);
  RecordingPart part = {{}, cut.custom_integers(name + "_channel_selector")};
  if (!cut.custom_flag(name + "_unaligned")) {
    part.stretch = {cut.start_s, cut.duration_s};
  } else if (most_s && *most_s < found->duration_s) {
    part.stretch.duration_s = most_s;
  }
  return sample_rate_hz ? load(resampled(*found, *sample_rate_hz), part, cut.place())
                        : load(*found, part, cut.place());
}

at::Tensor CutAudio::load_custom_of_mix(const Cut& mix, const std::string& name,
                                        std::optional<int64_t> sample_rate_hz) {
  AudioMixer mixer;
  int64_t rate = sample_rate_hz.value_or(0);
  for (const MixTrack* track : audible_tracks(mix)) {
    const Recording* const found = track->cut->find_recording(name);
    if (found == nullptr) continue;
    if (rate == 0) rate = found->sample_rate_hz;
    if (!sample_rate_hz && found->sample_rate_hz != rate) {
      throw cuts_errors::mix(mix.place(), "its tracks have '" + name + "' at " +
                                              std::to_string(rate) + " and at " +
                                              std::to_string(found->sample_rate_hz) + " Hz");
    }
    add(mixer, mix, *track, load_custom(*track->cut, name, sample_rate_hz), rate);
  }
  if (rate == 0 || mix.find_recording(name) == nullptr) {
    throw cuts_errors::no_custom(mix, name);
  }
  check_length(mix);
  at::Tensor audio_CS = mixer.mixed();
  const int64_t missing = compute_num_samples(mix.duration_s, rate) - audio_CS.size(1);
  // The rest after the last track with the recording is silence.
  if (missing > 0) audio_CS = at::constant_pad_nd(audio_CS, {0, missing});
  return fixed(mix, audio_CS, rate, /*reflects=*/false);
}

}  // namespace s2s::data
