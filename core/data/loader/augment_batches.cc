#include "loader/augment_batches.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <utility>

#include "cuts/cut_json.h"
#include "cuts/cut_operations.h"
#include "files/line_file.h"
#include "loader/join_cuts.h"
#include "loader/mapped_sampler.h"
#include "streams/source_files.h"

namespace s2s::data {
namespace {

CutPtr shared(Cut cut) { return std::make_shared<const Cut>(std::move(cut)); }
int64_t bits(double number) { return std::bit_cast<int64_t>(number); }
double number(int64_t drawn) { return std::bit_cast<double>(drawn); }

/// Changes the recordings of a cut, or of the tracks of a mix.
Cut change_recordings(const Cut& cut, const std::function<void(Cut&)>& change) {
  Cut changed = cut;
  if (cut.kind == Cut::Kind::kMixed) {
    for (MixTrack& track : changed.tracks) {
      track.cut = shared(change_recordings(*track.cut, change));
    }
  } else if (cut.recording) {
    change(changed);
    changed.features.reset();
  }
  return changed;
}

void add_resampling(Recording& recording, int64_t from_hz, int64_t to_hz) {
  recording.transforms.push_back(
      {"Resample",
       {fmt::format(R"({{"source_sampling_rate":{},"target_sampling_rate":{}}})", from_hz,
                    to_hz)}});
}

// ---- Lowpass.

SamplerPtr lowpassed(SamplerPtr source, const DatasetScope& scope) {
  const CutBatchesOptions& o = scope.options;
  const double low = o.lowpass_frequencies_interval[0];
  const double high = o.lowpass_frequencies_interval[1];
  const double share = o.lowpass_prob;
  const auto draw = [low, high, share](const Cut&, PythonRandom& random) -> std::vector<int64_t> {
    if (random.random() > share) return {};
    return {static_cast<int64_t>(std::exp(random.uniform(std::log(low), std::log(high))))};
  };
  const auto change = [](const CutPtr& cut, CutKeyView draws) {
    const int64_t rate = cut->sample_rate_hz();
    Cut changed = resample(resample(*cut, 2 * draws[0]), rate);
    changed.id = fmt::format("{}_lowpassed{}", cut->id, draws[0]);
    return shared(std::move(changed));
  };
  return map_batches_with_draws(
      std::move(source), draw, change,
      {fmt::format("lowpass {} {} {}", low, high, share), scope.shard_seed});
}

// ---- Clipping.

void clip(Cut& cut, bool is_hard, double gain_db, const CutBatchesOptions& o) {
  Recording& recording = *cut.recording;
  const int64_t rate = recording.sample_rate_hz;
  const int64_t factor = o.clipping_oversampling.value_or(0);
  if (factor > 0) add_resampling(recording, rate, rate * factor);
  recording.transforms.push_back({"Clipping",
                                  {fmt::format(R"({{"hard":{},"gain_db":{},"normalize":{}}})",
                                               is_hard, gain_db, o.clipping_normalize)}});
  if (factor > 0) add_resampling(recording, rate * factor, rate);
  recording.id += fmt::format("_cl{:.1f}", gain_db);
}

SamplerPtr clipped(SamplerPtr source, const DatasetScope& scope) {
  const CutBatchesOptions o = scope.options;
  const auto draw = [o](const Cut&, PythonRandom& random) -> std::vector<int64_t> {
    if (random.random() > o.clipping_prob) return {};
    const bool is_hard = random.random() <= o.clipping_prob_hard;
    return {is_hard ? 1 : 0, bits(random.uniform(o.clipping_gain_db[0], o.clipping_gain_db[1]))};
  };
  const auto change = [o](const CutPtr& cut, CutKeyView draws) {
    const double gain_db = number(draws[1]);
    const std::string suffix = fmt::format("_cl{}", gain_db);
    Cut changed = change_recordings(*cut, [&](Cut& part) {
      clip(part, draws[0] == 1, gain_db, o);
      part.id += suffix;
    });
    if (cut->kind == Cut::Kind::kMixed) changed.id += suffix;
    return shared(std::move(changed));
  };
  const std::string name = fmt::format(
      "clip {} {} {} {} {} {}", o.clipping_gain_db[0], o.clipping_gain_db[1], o.clipping_normalize,
      o.clipping_oversampling.value_or(0), o.clipping_prob_hard, o.clipping_prob);
  return map_batches_with_draws(std::move(source), draw, change, {name, scope.shard_seed});
}

// ---- Rooms.

std::vector<Recording> read_recordings(const std::string& path) {
  const auto file = files::open_line_file(path, {}, "Lhotse recordings (.jsonl); check rir_path");
  std::vector<Recording> recordings;
  Leniencies leniencies;
  for (int64_t row = 0; row < file->size(); ++row) {
    const LineLocation place{path, row + 1};
    const std::string line = file->line(row);
    recordings.push_back(
        parse_recording(JsonFields(parse_json_line(line, place), place), leniencies));
  }
  return recordings;
}

SamplerPtr reverberated(SamplerPtr source, const DatasetScope& scope) {
  const CutBatchesOptions& o = scope.options;
  auto rirs = std::make_shared<std::vector<Recording>>();
  if (o.rir_path) *rirs = read_recordings(path_from(scope.context->base_dir, *o.rir_path));
  const double share = o.rir_prob;
  const auto draw = [rirs, share](const Cut&, PythonRandom& random) -> std::vector<int64_t> {
    if (random.random() > share) return {};
    return {rirs->empty() ? -1 : static_cast<int64_t>(random.choice(rirs->size()))};
  };
  const auto change = [rirs](const CutPtr& cut, CutKeyView draws) {
    ReverbOptions options;
    if (draws[0] >= 0) options.rir = rirs->at(static_cast<size_t>(draws[0]));
    return shared(reverb_rir(*cut, options));
  };
  return map_batches_with_draws(
      std::move(source), draw, change,
      {fmt::format("rir {} {}", o.rir_path.value_or(""), share), scope.seed});
}

// ---- Lossy compression.

void compress(Recording& recording, const std::string& codec, double level) {
  const int64_t rate = recording.sample_rate_hz;
  const bool is_gsm = codec == "gsm" && rate != 8000;
  if (is_gsm) add_resampling(recording, rate, 8000);
  recording.transforms.push_back(
      {"Compress", {fmt::format(R"({{"codec":"{}","compression_level":{}}})", codec, level)}});
  if (is_gsm) add_resampling(recording, 8000, rate);
}

SamplerPtr compressed(SamplerPtr source, const DatasetScope& scope) {
  const CutBatchesOptions o = scope.options;
  std::vector<double> weights = o.compression_codec_weights;
  if (weights.empty()) weights.assign(o.compression_codecs.size(), 1.0);
  const std::vector<double> sums = running_sums(weights);
  const double low = o.compression_level_interval[0];
  const double high = o.compression_level_interval[1];
  const auto draw = [=](const Cut&, PythonRandom& random) -> std::vector<int64_t> {
    if (random.random() > o.compression_prob) return {};
    const double level = random.random() * (high - low) + low;
    return {bits(level), static_cast<int64_t>(random.choices(sums))};
  };
  const auto change = [o](const CutPtr& cut, CutKeyView draws) {
    const double level = number(draws[0]);
    const std::string& codec = o.compression_codecs.at(static_cast<size_t>(draws[1]));
    Cut changed = change_recordings(*cut, [&](Cut& part) {
      compress(*part.recording, codec, level);
      if (!o.compression_enable_for_custom_fields) return;
      for (auto& [name, value] : part.custom) {
        if (auto* recording = std::get_if<Recording>(&value)) compress(*recording, codec, level);
      }
    });
    changed.id = fmt::format("{}_{}_{:.2f}", cut->id, codec, level);
    return shared(std::move(changed));
  };
  std::string name = fmt::format("compress {} {} {} {}", low, high, o.compression_prob,
                                 o.compression_enable_for_custom_fields);
  for (size_t i = 0; i < weights.size(); ++i) {
    name += fmt::format(" {} {}", o.compression_codecs[i], weights[i]);
  }
  return map_batches_with_draws(std::move(source), draw, change, {name, scope.shard_seed});
}

}  // namespace

SamplerPtr change_batches(SamplerPtr source, const DatasetScope& scope) {
  const CutBatchesOptions& o = scope.options;
  if (o.concatenate_samples) {
    source = join_cuts(std::move(source), {o.concatenate_gap_seconds, o.concatenate_duration_factor,
                                           o.db_norm, o.concatenate_merge_supervisions});
  }
  if (o.lowpass_enabled) source = lowpassed(std::move(source), scope);
  if (o.clipping_enabled) source = clipped(std::move(source), scope);
  if (o.rir_enabled) source = reverberated(std::move(source), scope);
  return o.compression_enabled ? compressed(std::move(source), scope) : std::move(source);
}

}  // namespace s2s::data
