#include "cuts/recording_operations.h"

#include <fmt/format.h>

#include <numeric>
#include <utility>

#include "cuts/cut_files.h"
#include "cuts/cut_numbers.h"
#include "files/json_text.h"
#include "s2s/data/frames.h"

namespace s2s {

using data::python_number;

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

namespace data {

AudioTransform reverb_transform(const ReverbOptions& options, int64_t sample_rate_hz) {
  std::string kwargs;
  JsonObjectText object(kwargs);
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
    // Lhotse's constants of the fast random generator (arXiv 2208.04101).
    object.raw("rir_generator",
               fmt::format(R"({{"sr":{},"direct_range":[-6,50],"max_T60":0.8,"alpha":0.25,)"
                           R"("a":-2.0,"b":2.0,"tau":0.2,"room_seed":{},"source_seed":{}}})",
                           sample_rate_hz, seed(options.room_seed), seed(options.source_seed)));
  }
  object.end();
  return {"ReverbWithImpulseResponse", {kwargs}};
}

}  // namespace data

Recording reverb_rir(const Recording& recording, const ReverbOptions& options) {
  Recording changed = recording;
  if (options.affix_id) changed.id += "_rvb";
  if (recording.all_channels().size() == 1 && options.rir_channels.size() > 1) {
    changed.channel_ids.resize(options.rir_channels.size());
    std::iota(changed.channel_ids.begin(), changed.channel_ids.end(), 0);
  }
  changed.transforms.push_back(data::reverb_transform(options, recording.sample_rate_hz));
  return changed;
}

}  // namespace s2s
