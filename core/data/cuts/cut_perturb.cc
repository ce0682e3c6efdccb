// Adds transforms to a cut's recordings. They are applied when the audio is loaded.

#include <fmt/format.h>

#include <functional>
#include <memory>
#include <numeric>
#include <utility>

#include "base/fnv.h"
#include "cuts/cut_files.h"
#include "cuts/cut_numbers.h"
#include "cuts/cut_operations.h"
#include "cuts/cuts_errors.h"
#include "cuts/mixed_cut.h"
#include "files/json_text.h"
#include "s2s/data/frames.h"

namespace s2s {
namespace {

using data::python_number;
using Kind = Cut::Kind;

/// Lhotse's ReverbWithImpulseResponse. Without a room impulse response, one is simulated from the
/// seeds at `sample_rate_hz`.
AudioTransform reverb_transform(const ReverbOptions& options, int64_t sample_rate_hz) {
  std::string kwargs;
  data::JsonObjectText object(kwargs);
  object.raw("rir", options.rir ? to_json(*options.rir) : "null");
  object.raw("normalize_output", options.normalize_output ? "true" : "false");
  object.raw("early_only", options.early_only ? "true" : "false");
  object.integers("rir_channels", options.rir_channels);
  if (options.rir) {
    object.raw("rir_generator", "null");
  } else {
    const auto seed = [](std::optional<int64_t> given) {
      return given ? std::to_string(*given) : std::string("null");
    };
    // Lhotse's constants of the fast random approximation (arXiv 2208.04101).
    object.raw("rir_generator",
               fmt::format(R"({{"sr":{},"direct_range":[-6,50],"max_T60":0.8,"alpha":0.25,)"
                           R"("a":-2.0,"b":2.0,"tau":0.2,"room_seed":{},"source_seed":{}}})",
                           sample_rate_hz, seed(options.room_seed), seed(options.source_seed)));
  }
  object.end();
  return {"ReverbWithImpulseResponse", {kwargs}};
}

void need_recording(const Cut& cut, const char* operation) {
  if (!data::has_recording(cut)) {
    throw cuts_errors::operation(cut, operation, "it has no recording");
  }
}

/// Changes each track's cut of a mix. As in Lhotse, the mix loses its own transforms.
Cut with_tracks(const Cut& mix, const std::string& affix,
                const std::function<Cut(const Cut&)>& change) {
  Cut changed = mix;
  changed.id += affix;
  changed.transforms.clear();
  for (MixTrack& track : changed.tracks) {
    track.cut = std::make_shared<const Cut>(change(*track.cut));
  }
  data::update_mixed(changed);
  return changed;
}

void affix_turns(Cut& cut, const std::string& affix) {
  for (Supervision& turn : cut.supervisions) {
    turn.id += affix;
    turn.recording_id += affix;
  }
}

double perturbed_s(double time_s, double factor, int64_t rate_hz) {
  return static_cast<double>(
             data::perturb_num_samples(compute_num_samples(time_s, rate_hz), factor)) /
         static_cast<double>(rate_hz);
}

void perturb_turn(Supervision& turn, double factor, int64_t rate_hz) {
  turn.start_s = perturbed_s(turn.start_s, factor, rate_hz);
  turn.duration_s = perturbed_s(turn.duration_s, factor, rate_hz);
  for (auto& [kind, words] : turn.alignment) {
    for (AlignedWord& word : words) {
      word.start_s = perturbed_s(word.start_s, factor, rate_hz);
      word.duration_s = perturbed_s(word.duration_s, factor, rate_hz);
    }
  }
}

Cut perturb_padding(const Cut& cut, double factor, const std::string& affix) {
  Cut changed = cut;
  changed.id += affix;
  Cut::Padding& padding = *changed.padding;
  if (padding.num_frames) {
    padding.num_frames.reset();
    padding.num_features.reset();
    padding.frame_shift.reset();
  }
  padding.num_samples = data::perturb_num_samples(*padding.num_samples, factor);
  changed.duration_s =
      static_cast<double>(*padding.num_samples) / static_cast<double>(padding.sample_rate_hz);
  return changed;
}

int64_t seed_from(const std::string& id, const char* what) {
  return static_cast<int64_t>(fnv1a(data::derived_id(id, what)) >> 1);
}

/// Sets both seeds if there is no room impulse response.
ReverbOptions with_seeds(const Cut& cut, ReverbOptions options) {
  if (options.rir) return options;
  if (!options.room_seed) options.room_seed = seed_from(cut.id, "room");
  if (!options.source_seed) {
    options.source_seed = cut.kind == Kind::kMixed
                              ? seed_from(cut.id + '\n' + cut.tracks.front().cut->id, "source")
                              : options.room_seed;
  }
  return options;
}

void check_reverb(const Cut& cut, const ReverbOptions& options) {
  if (!options.rir) {
    if (cut.kind == Kind::kMulti && cut.channels.size() > 1) {
      throw cuts_errors::operation(cut, "reverb_rir",
                                   "it has several channels and no impulse response is given");
    }
    return;
  }
  if (options.rir->sample_rate_hz != cut.sample_rate_hz()) {
    throw cuts_errors::operation(cut, "reverb_rir",
                                 "the impulse response has another sample rate; resample it first");
  }
  const auto num_channels = static_cast<int64_t>(options.rir->all_channels().size());
  for (const int64_t channel : options.rir_channels) {
    if (channel < num_channels) continue;
    throw cuts_errors::operation(cut, "reverb_rir",
                                 "the impulse response has no channel " + std::to_string(channel));
  }
}

Cut reverb_tracks(const Cut& mix, const ReverbOptions& options, bool seeds_by_track) {
  Cut changed = mix;
  if (options.affix_id) changed.id += "_rvb";
  changed.transforms.clear();
  size_t next = 0;
  for (MixTrack& track : changed.tracks) {
    ReverbOptions of_track = options;
    of_track.mix_first = true;  // for a track that is itself a mix
    const bool shared = options.rir_channels.size() == 1 || track.mute;
    of_track.rir_channels = {options.rir_channels[shared ? 0 : next++]};
    if (seeds_by_track) of_track.source_seed = seed_from(mix.id + '\n' + track.cut->id, "source");
    track.cut = std::make_shared<const Cut>(reverb_rir(*track.cut, of_track));
  }
  data::update_mixed(changed);
  return changed;
}

Cut reverb_mix(const Cut& mix, const ReverbOptions& given) {
  const ReverbOptions options = with_seeds(mix, given);
  const size_t num_channels = options.rir_channels.size();
  if (num_channels != 1 && num_channels != data::audible_tracks(mix).size()) {
    throw cuts_errors::operation(mix, "reverb_rir", "there is not one channel for each track");
  }
  if (!options.mix_first) return reverb_tracks(mix, options, !given.source_seed && !given.rir);
  Cut changed = mix;
  if (options.affix_id) changed.id += "_rvb";
  changed.transforms.push_back(reverb_transform(options, mix.sample_rate_hz()));
  return changed;
}

}  // namespace

Cut resample(const Cut& cut, int64_t sample_rate_hz, bool affix_id,
             const std::string& recording_field) {
  need_recording(cut, "resample");
  const std::string affix = affix_id ? "_rs" + std::to_string(sample_rate_hz) : "";
  if (cut.kind == Kind::kMixed) {
    return with_tracks(cut, affix, [&](const Cut& track) {
      return resample(track, sample_rate_hz, false, recording_field);
    });
  }
  Cut changed = cut;
  changed.id += affix;
  if (cut.kind == Kind::kPadding) {
    Cut::Padding& padding = *changed.padding;
    padding.sample_rate_hz = sample_rate_hz;
    padding.num_samples = compute_num_samples(cut.duration_s, sample_rate_hz);
    padding.num_frames.reset();
    padding.num_features.reset();
    padding.frame_shift.reset();
    return changed;
  }
  changed.features.reset();
  if (recording_field.empty()) {
    changed.recording = resample(*cut.recording, sample_rate_hz);
    return changed;
  }
  const Recording* custom = cut.find_recording(recording_field);
  if (custom == nullptr) {
    throw cuts_errors::operation(cut, "resample", "it has no recording '" + recording_field + "'");
  }
  changed.set_custom(recording_field, resample(*custom, sample_rate_hz));
  return changed;
}

Cut perturb_speed(const Cut& cut, double factor, bool affix_id) {
  need_recording(cut, "perturb_speed");
  const std::string affix = affix_id ? "_sp" + python_number(factor) : "";
  if (cut.kind == Kind::kPadding) return perturb_padding(cut, factor, affix);
  if (cut.kind == Kind::kMixed) {
    Cut changed = with_tracks(
        cut, affix, [&](const Cut& track) { return perturb_speed(track, factor, affix_id); });
    const int64_t rate = changed.sample_rate_hz();
    for (MixTrack& track : changed.tracks) {
      track.offset_s = round_time(perturbed_s(track.offset_s, factor, rate));
    }
    data::update_mixed(changed);
    return changed;
  }
  Cut changed = cut;
  changed.features.reset();
  const int64_t rate = changed.sample_rate_hz();
  changed.id += affix;
  changed.recording = perturb_speed(*cut.recording, factor, affix_id);
  for (Supervision& turn : changed.supervisions) perturb_turn(turn, factor, rate);
  affix_turns(changed, affix);
  changed.start_s = perturbed_s(cut.start_s, factor, rate);
  changed.duration_s = perturbed_s(cut.duration_s, factor, rate);
  return changed;
}

Cut normalize_loudness(const Cut& cut, double target_db, bool mix_first, bool affix_id) {
  const std::string affix = affix_id ? "_ln" + python_number(target_db) : "";
  Cut changed = cut;
  changed.id += affix;
  if (cut.kind == Kind::kPadding) return changed;
  need_recording(cut, "normalize_loudness");
  if (cut.kind != Kind::kMixed) {
    changed.features.reset();
    changed.recording = normalize_loudness(*cut.recording, target_db, affix_id);
    affix_turns(changed, affix);
    return changed;
  }
  if (!mix_first) {
    return with_tracks(cut, affix, [&](const Cut& track) {
      return normalize_loudness(track, target_db, true, affix_id);
    });
  }
  data::change_first_track(changed, [](Cut& first) { first.features.reset(); });
  changed.transforms.push_back(
      {"LoudnessNormalization", {fmt::format(R"({{"target":{}}})", python_number(target_db))}});
  return changed;
}

Cut reverb_rir(const Cut& cut, const ReverbOptions& given) {
  if (cut.kind == Kind::kPadding) {
    Cut changed = cut;
    if (given.affix_id) changed.id += "_rvb";
    return changed;
  }
  need_recording(cut, "reverb_rir");
  check_reverb(cut, given);
  if (cut.kind == Kind::kMixed) return reverb_mix(cut, given);
  ReverbOptions options = with_seeds(cut, given);
  if (cut.kind == Kind::kMono && !options.rir) options.rir_channels = {0};
  Cut changed = cut;
  changed.features.reset();
  changed.recording = reverb_rir(*cut.recording, options);
  const std::string affix = options.affix_id ? "_rvb" : "";
  affix_turns(changed, affix);
  const size_t num_channels = options.rir_channels.size();
  // As in Lhotse, a mono cut that becomes a multi cut keeps its id.
  if (cut.kind == Kind::kMono && num_channels > 1) {
    changed.kind = Kind::kMulti;
    changed.channels.resize(num_channels);
    std::iota(changed.channels.begin(), changed.channels.end(), 0);
    for (Supervision& turn : changed.supervisions) {
      turn.channels = changed.channels;
      turn.channel_is_list = true;
    }
  } else {
    changed.id += affix;
  }
  return changed;
}

Recording resample(const Recording& recording, int64_t sample_rate_hz) {
  if (sample_rate_hz == recording.sample_rate_hz) return recording;
  Recording changed = recording;
  changed.transforms.push_back(
      {"Resample",
       {fmt::format(R"({{"source_sampling_rate":{},"target_sampling_rate":{}}})",
                    recording.sample_rate_hz, sample_rate_hz)}});
  changed.num_samples = compute_num_samples(recording.duration_s, sample_rate_hz);
  changed.duration_s =
      static_cast<double>(changed.num_samples) / static_cast<double>(sample_rate_hz);
  changed.sample_rate_hz = sample_rate_hz;
  return changed;
}

Recording perturb_speed(const Recording& recording, double factor, bool affix_id) {
  Recording changed = recording;
  if (affix_id) changed.id += "_sp" + python_number(factor);
  changed.num_samples = data::perturb_num_samples(recording.num_samples, factor);
  changed.duration_s =
      static_cast<double>(changed.num_samples) / static_cast<double>(recording.sample_rate_hz);
  changed.transforms.push_back(
      {"Speed", {fmt::format(R"({{"factor":{}}})", python_number(factor))}});
  return changed;
}

Recording normalize_loudness(const Recording& recording, double target_db, bool affix_id) {
  Recording changed = recording;
  if (affix_id) changed.id += "_ln" + python_number(target_db);
  changed.transforms.push_back(
      {"LoudnessNormalization", {fmt::format(R"({{"target":{}}})", python_number(target_db))}});
  return changed;
}

Recording reverb_rir(const Recording& recording, const ReverbOptions& options) {
  Recording changed = recording;
  if (options.affix_id) changed.id += "_rvb";
  if (recording.all_channels().size() == 1 && options.rir_channels.size() > 1) {
    changed.channel_ids.resize(options.rir_channels.size());
    std::iota(changed.channel_ids.begin(), changed.channel_ids.end(), 0);
  }
  changed.transforms.push_back(reverb_transform(options, recording.sample_rate_hz));
  return changed;
}

}  // namespace s2s
