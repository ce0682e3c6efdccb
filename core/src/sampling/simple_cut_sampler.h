#pragma once
// SimpleCutSampler on any supply, for itself and for the buckets of BucketingSampler.

#include "sampling/batch_count.h"
#include "sampling/cut_supply.h"

namespace s2s::data {

class SimpleCutSampler : public BatchSampler {
 public:
  /// `name` is what the fingerprint has of the supply.
  SimpleCutSampler(std::shared_ptr<SizedStream> stream, SupplyPtr supply,
                   const SimpleOptions& options, std::string name);
  std::optional<SampledBatch> next() override;
  void rewind(int64_t epoch) override;
  StreamState state() const override;
  void restore(const StreamState& state) override;
  CutPtr make(TokenView token) const override { return stream_->stream().make(token); }
  uint64_t fingerprint() const override;
  SamplerCounts counts() const override { return counts_; }
  double remaining_length() const { return supply_->remaining_length(); }
  /// Of pairs: a second measure of each cut, and what a batch may have of it.
  void limit_targets(const BatchLimits& limits, CutMeasure measure);

 private:
  SampledBatch kept(SampledBatch batch);
  void add_target(const SizedItem& item, BatchCount& count) const;
  std::shared_ptr<SizedStream> stream_;
  SupplyPtr supply_;
  SimpleOptions options_;
  BatchLimits target_limits_;
  CutMeasure target_measure_;  // none: there are no targets
  std::string name_;
  LongCutWarning warning_;
  SamplerCounts counts_;
};

}  // namespace s2s::data
