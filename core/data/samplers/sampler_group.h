#pragma once
// Several samplers behind one.

#include <vector>

#include "samplers/samplers.h"
#include "streams/stream_parts.h"

namespace s2s::data {

SamplerCounts operator+(const SamplerCounts& a, const SamplerCounts& b);

class SamplerGroup : public BatchSampler {
 public:
  explicit SamplerGroup(std::vector<SamplerPtr> samplers) : samplers_(std::move(samplers)) {}
  void rewind(int64_t epoch) override;
  StreamState state() const override;
  void restore(const StreamState& state) override;
  CutPtr make(CutKeyView token) const override;
  SamplerCounts counts() const override;

 protected:
  /// The sampler's next batch, with its number in front of the tokens.
  std::optional<SampledBatch> next_of(size_t number);
  size_t size() const { return samplers_.size(); }
  uint64_t mixed_with(const std::string& own) const;

 private:
  std::vector<SamplerPtr> samplers_;
};

}  // namespace s2s::data
