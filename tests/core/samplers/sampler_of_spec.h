#pragma once
// Samplers as tests/reference/lhotse_pipelines.py describes and builds them.

#include <string>

#include "core/samplers/lhotse_turns.h"
#include "core/streams/stream_of_spec.h"
#include "samplers/samplers.h"
#include "streams/pair_stream.h"

namespace s2s::data {

/// One stream of cuts, or of pairs.
inline StreamPtr source_of(const json& spec) {
  if (!spec.value("pairs", false)) return stream_of(spec.at("of"));
  const auto first = [](const CutPtr& source, const CutPtr&) { return source; };
  return pairs(stream_of(spec.at("of")), stream_of(spec.at("of")), first, "first");
}

inline void read_common(const json& spec, SamplerOptions& options) {
  options.seed = spec.value("seed", 0);
  options.shuffle = spec.value("shuffle", false);
  options.drop_last = spec.value("drop_last", false);
}

inline BatchLimits limits_of(const json& spec) {
  BatchLimits limits;
  if (spec.contains("max_duration")) limits.max_length = spec["max_duration"].get<double>();
  if (spec.contains("max_cuts")) limits.max_cuts = spec["max_cuts"].get<int64_t>();
  if (spec.contains("quadratic")) limits.quadratic_length = spec["quadratic"].get<double>();
  return limits;
}

inline CutSize duration_and_tokens(const Cut& cut) {
  for (const auto& [name, value] : cut.custom) {
    if (name == "tokens") return {cut.duration_s, std::stoll(std::get<JsonText>(value).text)};
  }
  return {cut.duration_s, 0};
}

inline SamplerPtr dynamic_bucketing_of(const json& spec, int64_t num_ranks) {
  DynamicBucketingOptions options;
  read_common(spec, options);
  options.bins.lengths = spec.value("bins", std::vector<double>());
  options.bins.num_tokens = spec.value("tokens", std::vector<int64_t>());
  options.bins.is_strict = spec.value("strict", true);
  options.bins.max_ratio = spec.value("max_ratio", std::vector<double>());
  StreamPtr source = source_of(spec);
  if (spec.contains("batch_sizes")) {
    options.limits = FixedBatchSizes{spec["batch_sizes"].get<std::vector<int64_t>>()};
  } else {
    options.limits = limits_of(spec);
  }
  if (options.bins.is_2d()) {
    options.measure = duration_and_tokens;
    const Bins bins = options.bins;
    source = filter(
        std::move(source),
        [bins](const Cut& cut) { return fits_bucket(bins, duration_and_tokens(cut)); }, "fits");
  }
  options.num_buckets = spec.value("num_buckets", 10);
  options.num_cuts_for_bins = spec.value("estimate", 10000);
  options.buffer_size = spec.at("buffer").get<int64_t>();
  options.bucket_group = spec.value("bucket_group", num_ranks);
  return dynamic_bucketing_sampler(std::move(source), options);
}

inline SamplerPtr dynamic_cut_of(const json& spec) {
  DynamicCutOptions options;
  read_common(spec, options);
  options.limits = limits_of(spec);
  options.shuffle_buffer_size = spec.value("buffer", 20000);
  return dynamic_cut_sampler(source_of(spec), options);
}

/// The last turn of the ranks is ours, or lhotse's.
enum class LastTurn { kOurs, kLhotses };

inline SamplerPtr sampler_of(const json& spec, int64_t num_ranks,
                             LastTurn last_turn = LastTurn::kOurs) {
  const auto kind = spec.at("sampler").get<std::string>();
  if (kind != "zip" && kind != "round_robin") {
    REQUIRE((kind == "dynamic_cut" || kind == "dynamic_bucketing"));
    SamplerPtr sampler =
        kind == "dynamic_cut" ? dynamic_cut_of(spec) : dynamic_bucketing_of(spec, num_ranks);
    if (last_turn == LastTurn::kOurs) return sampler;
    return std::make_unique<LhotseTurns>(std::move(sampler), num_ranks,
                                         spec.value("drop_last", false));
  }
  std::vector<SamplerPtr> samplers;
  for (const json& part : spec.at("of")) {
    samplers.push_back(sampler_of(part, num_ranks, last_turn));
  }
  if (kind == "zip") return zip_sampler(std::move(samplers));
  RoundRobinOptions options;
  const json randomize = spec.value("randomize", json(false));
  if (randomize.is_array()) options.weights = randomize.get<std::vector<double>>();
  options.randomize = randomize.is_boolean() && randomize.get<bool>();
  options.seed = spec.value("seed", 0);
  options.num_ranks = num_ranks;
  return round_robin_sampler(std::move(samplers), options);
}

using BatchIds = std::vector<std::string>;

inline BatchIds ids_of(const SampledBatch& batch, const BatchSampler& sampler) {
  BatchIds ids;
  for (const CutItem& item : batch.items) {
    ids.push_back(item.cut ? item.cut->id : sampler.make(item.key)->id);
  }
  return ids;
}

/// Ids of each batch of each rank of each epoch.
inline std::vector<std::vector<std::vector<BatchIds>>> ids_of_sampler(const json& spec) {
  const auto num_ranks = spec.at("world_size").get<int64_t>();
  const int64_t limit = spec.value("limit", int64_t{1} << 40) * num_ranks;
  SamplerPtr sampler = sampler_of(spec.at("sampler"), num_ranks, LastTurn::kLhotses);
  std::vector<std::vector<std::vector<BatchIds>>> epochs;
  for (int64_t epoch = 0; epoch < spec.at("epochs").get<int64_t>(); ++epoch) {
    sampler->rewind(epoch);
    auto& ranks = epochs.emplace_back(static_cast<size_t>(num_ranks));
    for (int64_t number = 0; number < limit; ++number) {
      const std::optional<SampledBatch> batch = sampler->next();
      if (!batch) break;
      ranks[static_cast<size_t>(number % num_ranks)].push_back(ids_of(*batch, *sampler));
    }
  }
  return epochs;
}

/// Ids of each pass.
inline std::vector<BatchIds> ids_of_stream(const json& spec) {
  StreamPtr stream = stream_of(spec.at("stream"));
  const auto limit = spec.at("limit").get<size_t>();
  std::vector<BatchIds> passes;
  for (int64_t pass = 0; pass < spec.at("epochs").get<int64_t>(); ++pass) {
    stream->rewind(pass);
    BatchIds& ids = passes.emplace_back();
    while (ids.size() < limit) {
      const std::optional<CutItem> item = stream->next();
      if (!item) break;
      ids.push_back(item->cut->id);
    }
  }
  return passes;
}

}  // namespace s2s::data
