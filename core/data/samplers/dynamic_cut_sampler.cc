// Makes batches in the order of the stream.   Source: lhotse dataset/sampling/dynamic.py.

#include <fmt/format.h>

#include "samplers/sampler_parts.h"

namespace s2s::data {
namespace {

StreamPtr maybe_shuffled(StreamPtr source, const DynamicCutOptions& options) {
  if (!options.shuffle) return source;
  ShuffleOptions shuffling;
  shuffling.buffer_size = options.shuffle_buffer_size;
  shuffling.seed = options.seed;
  return shuffle(std::move(source), shuffling);
}

class DynamicCutSampler : public BatchSampler {
 public:
  DynamicCutSampler(StreamPtr source, const DynamicCutOptions& options)
      : source_(maybe_shuffled(std::move(source), options), options),
        options_(options),
        warning_(options.warn) {
    check_limits(options_.limits);
    rewind(0);
  }

  std::optional<SampledBatch> next() override {
    BatchCount count(options_.limits);
    SampledBatch batch;
    while (std::optional<SizedItem> item = source_.next()) {
      count.add(item->size.length);
      if (count.exceeded() && batch.items.empty()) warning_.about(*item, source_.stream());
      batch.items.push_back(std::move(item->item));
      if (count.close_to_exceeding()) return kept(std::move(batch));
    }
    if (batch.items.empty()) return std::nullopt;
    if (!options_.drop_last) return kept(std::move(batch));
    counts_.discarded_cuts += count.num_cuts();
    ++counts_.discarded_batches;
    return std::nullopt;
  }

  void rewind(int64_t epoch) override {
    source_.stream().rewind(epoch);
    counts_ = {};
  }

  StreamState state() const override {
    return {{"source", source_.stream().state()}, {"counts", counts_state(counts_)}};
  }

  void restore(const StreamState& state) override {
    source_.stream().restore(state_part(state, "source"));
    counts_ = restored_counts(state);
  }

  CutPtr make(CutKeyView key) const override { return source_.stream().make(key); }

  uint64_t fingerprint() const override {
    return mixed_fingerprint(
        fmt::format("dynamic_cut {} {} {}", description(options_), description(options_.limits),
                    options_.shuffle_buffer_size),
        std::vector{source_.stream().fingerprint()});
  }

  SamplerCounts counts() const override { return counts_; }

 private:
  SampledBatch kept(SampledBatch batch) {
    counts_.kept_cuts += static_cast<int64_t>(batch.items.size());
    ++counts_.kept_batches;
    return batch;
  }

  SizedStream source_;
  DynamicCutOptions options_;
  LongCutWarning warning_;
  SamplerCounts counts_;
};

}  // namespace

SamplerPtr dynamic_cut_sampler(StreamPtr source, const DynamicCutOptions& options) {
  return std::make_unique<DynamicCutSampler>(std::move(source), options);
}

}  // namespace s2s::data
