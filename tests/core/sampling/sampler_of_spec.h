#pragma once
// Samplers as tests/reference/lhotse_pipelines.py describes and builds them.

#include <string>

#include "core/stream/stream_of_spec.h"
#include "sampling/samplers.h"
#include "stream/pair_stream.h"

namespace s2s::data {

/// Duration of the cut of the same id in a set of targets.
inline double target_length(const Cut& cut) {
  int64_t sum = 0;
  for (const char letter : cut.id) sum += letter;
  return 0.5 + static_cast<double>(sum % 97) / 8;
}

/// One stream of cuts, or of pairs: the duration of the target is a function of the id.
inline StreamPtr source_of(const json& spec, bool is_pairs = false) {
  if (!is_pairs && !spec.value("pairs", false)) return stream_of(spec.at("of"));
  const auto first = [](const CutPtr& source, const CutPtr&) { return source; };
  return pairs(stream_of(spec.at("of")), stream_of(spec.at("of")), first, "first");
}

inline void read_common(const json& spec, SamplerOptions& options) {
  options.seed = spec.value("seed", 0);
  options.shuffle = spec.value("shuffle", false);
  options.drop_last = spec.value("drop_last", false);
  options.passes_before = spec.value("passes_before", 0);
  options.keep_cuts = spec.value("keep_cuts", true);
  if (spec.contains("filter_min")) {
    const double min = spec["filter_min"].get<double>();
    const bool is_pairs = spec.value("pairs", false) || spec.at("sampler") == "cut_pairs";
    options.filter = [min, is_pairs](const Cut& cut) {
      return cut.duration_s >= min && (!is_pairs || target_length(cut) >= min);
    };
  }
}

inline BatchLimits limits_of(const json& spec) {
  BatchLimits limits;
  if (spec.contains("max_duration")) limits.max_length = spec["max_duration"].get<double>();
  if (spec.contains("max_cuts")) limits.max_cuts = spec["max_cuts"].get<int64_t>();
  if (spec.contains("quadratic")) limits.quadratic_length = spec["quadratic"].get<double>();
  limits.adds_up = spec.value("adds_up", false);
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
  options.sync_buckets = spec.value("sync", true);
  options.ends_at_empty_bucket = spec.value("tail", "") != "keep";
  options.bucket_group = spec.value("bucket_group", num_ranks);
  return dynamic_bucketing_sampler(std::move(source), options);
}

inline SamplerPtr weighted_of(const json& spec) {
  SimpleOptions options;
  read_common(spec, options);
  options.limits = limits_of(spec);
  WeightedOptions weighted;
  weighted.num_samples = spec.at("num_samples").get<int64_t>();
  weighted.numpy_seed = spec.at("numpy_seed").get<uint32_t>();
  StreamPtr source = stream_of(spec.at("of"));
  PythonRandom rng(spec.at("weights_seed").get<int64_t>());
  while (source->next()) {
    weighted.weights.push_back(static_cast<double>(rng.randint(1, 100)) / 10);
  }
  return weighted_simple_cut_sampler(std::move(source), options, weighted);
}

inline Tail tail_of(const json& spec) {
  const std::string tail = spec.value("tail", "");
  if (tail == "keep") return Tail::kKeep;
  return spec.value("drop_last", false) ? Tail::kDrop : Tail::kDuplicate;
}

inline SamplerPtr cut_pairs_of(const json& spec) {
  PairOptions options;
  read_common(spec, options);
  options.limits = limits_of(spec);
  options.is_eager = spec.value("eager", true);
  if (spec.contains("max_target")) options.max_target_length = spec["max_target"].get<double>();
  options.target_measure = [](const Cut& cut) { return CutSize{target_length(cut), 0}; };
  return cut_pairs_sampler(source_of(spec, true), options);
}

inline SamplerPtr plain_sampler_of(const std::string& kind, const json& spec, int64_t num_ranks) {
  if (kind == "dynamic_bucketing") return dynamic_bucketing_of(spec, num_ranks);
  if (kind == "weighted_simple") return weighted_of(spec);
  if (kind == "dynamic_cut") {
    DynamicCutOptions options;
    read_common(spec, options);
    options.limits = limits_of(spec);
    options.shuffle_buffer_size = spec.value("buffer", 20000);
    return dynamic_cut_sampler(source_of(spec), options);
  }
  if (kind == "cut_pairs") return cut_pairs_of(spec);
  REQUIRE(kind == "simple");
  SimpleOptions options;
  read_common(spec, options);
  options.limits = limits_of(spec);
  options.is_eager = spec.value("eager", true);
  return simple_cut_sampler(stream_of(spec.at("of")), options);
}

inline SamplerPtr bucketing_of(const json& spec, int64_t num_ranks) {
  BucketingOptions options;
  read_common(spec, options);
  options.limits = limits_of(spec);
  options.num_buckets = spec.at("num_buckets").get<int64_t>();
  options.num_ranks = num_ranks;
  options.tail = tail_of(spec);
  options.bucket_seed = spec.value("bucket_seed", 0);
  return bucketing_sampler(stream_of(spec.at("of")), options);
}

inline SamplerPtr sampler_of(const json& spec, int64_t num_ranks) {
  const auto kind = spec.at("sampler").get<std::string>();
  if (kind == "bucketing") return bucketing_of(spec, num_ranks);
  if (kind != "zip" && kind != "round_robin") {
    return in_turns(plain_sampler_of(kind, spec, num_ranks), num_ranks, tail_of(spec));
  }
  std::vector<SamplerPtr> samplers;
  for (const json& part : spec.at("of")) samplers.push_back(sampler_of(part, num_ranks));
  if (kind == "zip") return zip_sampler(std::move(samplers));
  RoundRobinOptions options;
  options.stop_early = spec.value("stop_early", false);
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
    ids.push_back(item.cut ? item.cut->id : sampler.make(item.token)->id);
  }
  return ids;
}

/// Ids of each batch of each rank of each epoch.
inline std::vector<std::vector<std::vector<BatchIds>>> ids_of_sampler(const json& spec) {
  const auto num_ranks = spec.at("world_size").get<int64_t>();
  const int64_t limit = spec.value("limit", int64_t{1} << 40) * num_ranks;
  SamplerPtr sampler = sampler_of(spec.at("sampler"), num_ranks);
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
