#include "sampling/simple_cut_sampler.h"

#include <fmt/format.h>

namespace s2s::data {

SimpleCutSampler::SimpleCutSampler(std::shared_ptr<SizedStream> stream, SupplyPtr supply,
                                   const SimpleOptions& options, std::string name)
    : stream_(std::move(stream)),
      supply_(std::move(supply)),
      options_(options),
      name_(std::move(name)),
      warning_(options.warn) {
  check_limits(options_.limits);
}

std::optional<SampledBatch> SimpleCutSampler::next() {
  BatchCount count(options_.limits);
  BatchCount targets(target_limits_);
  SampledBatch batch;
  while (std::optional<SizedItem> item = supply_->next()) {
    if (!stream_->passes(item->item)) {
      ++counts_.discarded_cuts;
      continue;
    }
    count.add(item->size.length);
    add_target(*item, targets);
    const bool exceeds = count.exceeded() || targets.exceeded();
    if (exceeds && !batch.items.empty()) {
      supply_->take_back(std::move(*item));
      return kept(std::move(batch));
    }
    if (exceeds) warning_.about(*item, stream_->stream());
    batch.items.push_back(std::move(item->item));
  }
  if (batch.items.empty()) return std::nullopt;
  const bool is_full = count.close_to_exceeding() || targets.close_to_exceeding();
  if (!options_.drop_last || is_full) return kept(std::move(batch));
  counts_.discarded_cuts += static_cast<int64_t>(batch.items.size());
  ++counts_.discarded_batches;
  return std::nullopt;
}

void SimpleCutSampler::limit_targets(const BatchLimits& limits, CutMeasure measure) {
  check_limits(limits);
  target_limits_ = limits;
  target_measure_ = std::move(measure);
  name_ += " pairs " + description(limits);
}

void SimpleCutSampler::add_target(const SizedItem& item, BatchCount& count) const {
  if (target_measure_) {
    count.add(target_measure_(*cut_of(item.item, stream_->stream())).length);
  }
}

SampledBatch SimpleCutSampler::kept(SampledBatch batch) {
  counts_.kept_cuts += static_cast<int64_t>(batch.items.size());
  ++counts_.kept_batches;
  return batch;
}

void SimpleCutSampler::rewind(int64_t epoch) {
  supply_->rewind(epoch);
  counts_ = {};
}

StreamState SimpleCutSampler::state() const {
  return {{"supply", supply_->state()}, {"counts", counts_state(counts_)}};
}

void SimpleCutSampler::restore(const StreamState& state) {
  supply_->restore(state_part(state, "supply"));
  counts_ = restored_counts(state);
}

uint64_t SimpleCutSampler::fingerprint() const {
  return mixed_fingerprint(
      fmt::format("simple {} {} {}", name_, description(options_), description(options_.limits)),
      std::vector{stream_->stream().fingerprint()});
}

namespace {

std::unique_ptr<SimpleCutSampler> make_simple(StreamPtr source, const SimpleOptions& options) {
  if (!options.is_eager && options.shuffle) {
    ShuffleOptions shuffling;
    shuffling.seed = options.seed - options.passes_before;
    shuffling.keep_cuts = options.keep_cuts;
    source = shuffle(std::move(source), shuffling);
  }
  auto stream = std::make_shared<SizedStream>(std::move(source), options);
  if (!options.is_eager) {
    return std::make_unique<SimpleCutSampler>(stream, lazy_supply(stream), options, "lazy");
  }
  std::optional<int64_t> seed;
  if (options.shuffle) seed = options.seed;
  return std::make_unique<SimpleCutSampler>(stream, eager_supply(all_items(*stream), seed), options,
                                            "eager");
}

CutSize target_size(const Cut& cut) {
  const Recording* target = cut.find_recording("target_audio");
  return {target == nullptr ? 0 : target->duration_s, 0};
}

}  // namespace

SamplerPtr simple_cut_sampler(StreamPtr source, const SimpleOptions& options) {
  return make_simple(std::move(source), options);
}

SamplerPtr cut_pairs_sampler(StreamPtr pairs, const PairOptions& options) {
  SimpleOptions of_sources = options;
  if (options.max_target_length && !options.limits.max_length && !options.limits.max_cuts) {
    of_sources.limits.max_cuts = INT64_MAX;  // only targets are limited
  }
  auto sampler = make_simple(std::move(pairs), of_sources);
  BatchLimits limits;
  limits.max_length = options.max_target_length;
  limits.max_cuts = options.limits.max_cuts;
  if (limits.max_length || limits.max_cuts) {
    sampler->limit_targets(limits, options.target_measure ? options.target_measure : target_size);
  }
  return sampler;
}

SamplerPtr weighted_simple_cut_sampler(StreamPtr source, const SimpleOptions& options,
                                       const WeightedOptions& weighted) {
  auto stream = std::make_shared<SizedStream>(std::move(source), options);
  std::string name = fmt::format("weighted {} {}", weighted.num_samples, weighted.numpy_seed);
  for (const double weight : weighted.weights) name += fmt::format(" {}", weight);
  return std::make_unique<SimpleCutSampler>(stream, weighted_supply(all_items(*stream), weighted),
                                            options, std::move(name));
}

}  // namespace s2s::data
