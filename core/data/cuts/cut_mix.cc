// Mixes cuts, appends them and pads them with silence.

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "cuts/cut_numbers.h"
#include "cuts/cut_operations.h"
#include "cuts/cuts_errors.h"
#include "cuts/mixed_cut.h"
#include "s2s/data/frames.h"

namespace s2s {
namespace {

using Kind = Cut::Kind;

bool has_muted(const Cut& cut) {
  return std::any_of(cut.tracks.begin(), cut.tracks.end(),
                     [](const MixTrack& track) { return track.mute; });
}

/// Whether it is a mix whose tracks can be copied into another mix.
bool is_open(const Cut& cut) {
  return cut.kind == Kind::kMixed && cut.transforms.empty() && !has_muted(cut);
}

void check_channels(const Cut& reference, const Cut& mixed_in) {
  const auto fits = [&](const Cut& multi, const Cut& other) {
    if (multi.kind != Kind::kMulti) return true;
    if (other.kind == Kind::kMulti) return multi.channels == other.channels;
    return std::all_of(other.tracks.begin(), other.tracks.end(), [&](const MixTrack& track) {
      return track.cut->kind != Kind::kMulti || track.cut->channels == multi.channels;
    });
  };
  if (!fits(reference, mixed_in) || !fits(mixed_in, reference)) {
    throw cuts_errors::operation(mixed_in, "mix", "its channels are not those of the other cut");
  }
}

void check_mix(const Cut& reference, const Cut& mixed_in, const MixOptions& options) {
  const auto a = data::num_features(reference);
  const auto b = data::num_features(mixed_in);
  if (a && b && *a != *b) {
    throw cuts_errors::operation(mixed_in, "mix", "the numbers of features differ");
  }
  if (options.offset_s > reference.duration_s) {
    throw cuts_errors::operation(mixed_in, "mix", "it begins after the end of the other cut");
  }
  if (reference.sample_rate_hz() != mixed_in.sample_rate_hz()) {
    throw cuts_errors::operation(
        mixed_in, "mix",
        "the sample rates differ, " + std::to_string(reference.sample_rate_hz()) + " and " +
            std::to_string(mixed_in.sample_rate_hz()) + " Hz; resample first");
  }
  check_channels(reference, mixed_in);
}

/// Marks the track to which the levels of the others refer.
void mark_reference(std::vector<MixTrack>& tracks) {
  for (const MixTrack& track : tracks) {
    if (track.is_snr_reference) return;
  }
  for (MixTrack& track : tracks) {
    if (track.cut->kind == Kind::kPadding || track.snr_db) continue;
    track.is_snr_reference = true;
    return;
  }
}

std::vector<MixTrack> reference_tracks(const Cut& reference) {
  if (is_open(reference)) {
    std::vector<MixTrack> tracks = reference.tracks;
    mark_reference(tracks);
    return tracks;
  }
  MixTrack track;
  track.cut = std::make_shared<const Cut>(reference);
  track.is_snr_reference = reference.kind != Kind::kPadding;
  return {track};
}

std::vector<MixTrack> added_tracks(const Cut& mixed_in, std::optional<double> snr_db,
                                   const MixOptions& options) {
  if (!is_open(mixed_in)) {
    MixTrack track;
    track.cut = std::make_shared<const Cut>(mixed_in);
    track.offset_s = options.offset_s;
    track.snr_db = snr_db;
    track.tag = options.tag;
    return {track};
  }
  std::vector<MixTrack> tracks = mixed_in.tracks;
  for (MixTrack& track : tracks) {
    track.offset_s = round_time(track.offset_s + options.offset_s);
    if (snr_db) track.snr_db = track.snr_db ? *track.snr_db + *snr_db : *snr_db;
    if (!track.tag) track.tag = options.tag;
    track.is_snr_reference = false;
  }
  return tracks;
}

std::string mixed_id(const Cut& reference, const Cut& mixed_in, const MixOptions& options) {
  if (options.preserve_id == KeepId::kLeft) return reference.id;
  if (options.preserve_id == KeepId::kRight) return mixed_in.id;
  return data::derived_id(reference.id + '\n' + mixed_in.id, "mix", {options.offset_s});
}

/// The length of a padded cut in all its units.
struct PaddedLength {
  double duration_s = 0;
  std::optional<int64_t> num_frames = {};
  std::optional<int64_t> num_samples = {};
};

/// Returns nothing if the cut is long enough.
std::optional<PaddedLength> padded_length(const Cut& cut, const PadOptions& options) {
  const int64_t rate = data::rate_for(cut, "pad");
  const auto frames_of = [&](double duration_s) -> std::optional<int64_t> {
    if (!data::has_features(cut)) return std::nullopt;
    return compute_num_frames(duration_s, *data::frame_shift_s(cut), rate);
  };
  const auto samples_of = [&](double duration_s) -> std::optional<int64_t> {
    if (!data::has_recording(cut)) return std::nullopt;
    return compute_num_samples(duration_s, rate);
  };
  if (options.duration_s) {
    if (*options.duration_s <= cut.duration_s) return std::nullopt;
    const double duration_s = *options.duration_s;
    return PaddedLength{duration_s, frames_of(duration_s), samples_of(duration_s)};
  }
  if (options.num_frames) {
    if (!data::has_features(cut)) throw cuts_errors::operation(cut, "pad", "it has no features");
    const double duration_s = static_cast<double>(*options.num_frames) * *data::frame_shift_s(cut);
    PaddedLength length{duration_s, options.num_frames, samples_of(duration_s)};
    const bool enough = *options.num_frames <= *data::num_frames(cut) &&
                        duration_s <= cut.duration_s &&
                        (!length.num_samples || *length.num_samples <= *data::num_samples(cut));
    return enough ? std::nullopt : std::optional(length);
  }
  if (!data::has_recording(cut)) throw cuts_errors::operation(cut, "pad", "it has no recording");
  if (*options.num_samples <= *data::num_samples(cut)) return std::nullopt;
  const double duration_s = static_cast<double>(*options.num_samples) / static_cast<double>(rate);
  return PaddedLength{duration_s, frames_of(duration_s), options.num_samples};
}

Cut silence_after(const Cut& cut, const PaddedLength& length, const PadOptions& options) {
  Cut silence;
  silence.kind = Kind::kPadding;
  silence.id = data::derived_id(cut.id, "padding", {length.duration_s});
  silence.manifest = cut.manifest;
  silence.line = cut.line;
  silence.duration_s = round_time(length.duration_s - cut.duration_s);
  Cut::Padding& padding = silence.padding.emplace();
  padding.sample_rate_hz = cut.sample_rate_hz();
  padding.feat_value = options.feat_value;
  padding.num_features = data::num_features(cut);
  padding.frame_shift = data::frame_shift_s(cut);
  if (length.num_frames) padding.num_frames = *length.num_frames - *data::num_frames(cut);
  if (length.num_samples) padding.num_samples = *length.num_samples - *data::num_samples(cut);
  silence.custom = options.pad_values;
  return silence;
}

}  // namespace

Cut mix(const Cut& reference, const Cut& mixed_in, const MixOptions& options) {
  std::optional<double> snr_db = options.snr_db;
  // Silence has no level, so a ratio to it has no meaning.
  if (reference.kind == Kind::kPadding || mixed_in.kind == Kind::kPadding) snr_db.reset();
  check_mix(reference, mixed_in, options);
  Cut mixed;
  mixed.kind = Kind::kMixed;
  mixed.manifest = reference.manifest;
  mixed.line = reference.line;
  mixed.id = mixed_id(reference, mixed_in, options);
  mixed.tracks = reference_tracks(reference);
  for (MixTrack& track : added_tracks(mixed_in, snr_db, options)) {
    mixed.tracks.push_back(std::move(track));
  }
  data::update_mixed(mixed);
  return mixed;
}

Cut append(const Cut& left, const Cut& right, std::optional<double> snr_db, KeepId preserve_id) {
  MixOptions options;
  options.offset_s = left.duration_s;
  options.snr_db = snr_db;
  options.preserve_id = preserve_id;
  return mix(left, right, options);
}

Cut pad(const Cut& cut, const PadOptions& options) {
  const int num_given = int{options.duration_s.has_value()} + int{options.num_frames.has_value()} +
                        int{options.num_samples.has_value()};
  S2S_ASSERT(num_given == 1, "one of duration_s, num_frames and num_samples is given");
  const std::optional<PaddedLength> length = padded_length(cut, options);
  if (!length) return cut;
  const Cut silence = silence_after(cut, *length, options);
  const KeepId left = options.preserve_id ? KeepId::kLeft : KeepId::kNone;
  const KeepId right = options.preserve_id ? KeepId::kRight : KeepId::kNone;
  if (options.direction == Direction::kRight) return append(cut, silence, {}, left);
  if (options.direction == Direction::kLeft) return append(silence, cut, {}, right);
  TruncateOptions half;
  half.duration_s = silence.duration_s / 2;
  const Cut half_silence = truncate(silence, half);
  Cut other_half = half_silence;
  other_half.id = data::derived_id(half_silence.id, "other half");
  return append(append(half_silence, cut, {}, right), other_half, {}, left);
}

}  // namespace s2s
