#pragma once
// Samplers that change the batches of other samplers.

#include <string>

#include "samplers/samplers.h"
#include "streams/python_random.h"

namespace s2s::data {

/// A sampler that gives the batches of another one.
class OneSampler : public BatchSampler {
 public:
  OneSampler(SamplerPtr source, std::string name)
      : source_(std::move(source)), name_(std::move(name)) {}
  void rewind(int64_t epoch) override { source_->rewind(epoch); }
  StreamState state() const override;
  void restore(const StreamState& state) override;
  uint64_t fingerprint() const override;
  SamplerCounts counts() const override { return source_->counts(); }

 protected:
  BatchSampler& source() { return *source_; }
  const BatchSampler& source() const { return *source_; }
  CutPtr cut_of_item(const CutItem& item) const;

 private:
  SamplerPtr source_;
  std::string name_;
};

struct BatchDraws {
  std::string name;  // says what the functions depend on
  int64_t seed = 0;  // before epoch 0; later epochs continue drawing
};

/// Changes each cut by numbers that are drawn for it, in the order of the batches. Cuts for which
/// nothing is drawn are unchanged.
/// Key: number of draws, the draws, the source's key.
SamplerPtr map_batches_with_draws(SamplerPtr source, CutDraws draws, CutDrawsFunction function,
                                  const BatchDraws& options);

}  // namespace s2s::data
