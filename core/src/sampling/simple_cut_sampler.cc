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
  SampledBatch batch;
  while (std::optional<SizedItem> item = supply_->next()) {
    if (!stream_->passes(item->item)) {
      ++counts_.discarded_cuts;
      continue;
    }
    count.add(item->size.length);
    if (count.exceeded() && !batch.items.empty()) {
      supply_->take_back(std::move(*item));
      return kept(std::move(batch));
    }
    if (count.exceeded()) warning_.about(*item, stream_->stream());
    batch.items.push_back(std::move(item->item));
  }
  if (batch.items.empty()) return std::nullopt;
  if (!options_.drop_last || count.close_to_exceeding()) return kept(std::move(batch));
  counts_.discarded_cuts += static_cast<int64_t>(batch.items.size());
  ++counts_.discarded_batches;
  return std::nullopt;
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

SamplerPtr simple_cut_sampler(StreamPtr source, const SimpleOptions& options) {
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

SamplerPtr weighted_simple_cut_sampler(StreamPtr source, const SimpleOptions& options,
                                       const WeightedOptions& weighted) {
  auto stream = std::make_shared<SizedStream>(std::move(source), options);
  std::string name = fmt::format("weighted {} {}", weighted.num_samples, weighted.numpy_seed);
  for (const double weight : weighted.weights) name += fmt::format(" {}", weight);
  return std::make_unique<SimpleCutSampler>(stream, weighted_supply(all_items(*stream), weighted),
                                            options, std::move(name));
}

}  // namespace s2s::data
