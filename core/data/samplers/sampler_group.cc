#include "samplers/sampler_group.h"

namespace s2s::data {

SamplerCounts operator+(const SamplerCounts& a, const SamplerCounts& b) {
  return {a.kept_cuts + b.kept_cuts, a.discarded_cuts + b.discarded_cuts,
          a.kept_batches + b.kept_batches, a.discarded_batches + b.discarded_batches};
}

void SamplerGroup::rewind(int64_t epoch) {
  for (const SamplerPtr& sampler : samplers_) sampler->rewind(epoch);
}

StreamState SamplerGroup::state() const {
  StreamState states = StreamState::array();
  for (const SamplerPtr& sampler : samplers_) states.push_back(sampler->state());
  return {{"samplers", std::move(states)}};
}

void SamplerGroup::restore(const StreamState& state) {
  const StreamState& states = state_list(state, "samplers", samplers_.size());
  for (size_t i = 0; i < samplers_.size(); ++i) samplers_[i]->restore(states[i]);
}

CutPtr SamplerGroup::make(CutKeyView token) const {
  const int64_t number = take_front(token, static_cast<int64_t>(samplers_.size()));
  return samplers_[static_cast<size_t>(number)]->make(token);
}

SamplerCounts SamplerGroup::counts() const {
  SamplerCounts sum;
  for (const SamplerPtr& sampler : samplers_) sum = sum + sampler->counts();
  return sum;
}

std::optional<SampledBatch> SamplerGroup::next_of(size_t number) {
  std::optional<SampledBatch> batch = samplers_[number]->next();
  if (!batch) return std::nullopt;
  for (CutItem& item : batch->items) {
    item.token = with_front(static_cast<int64_t>(number), std::move(item.token));
  }
  return batch;
}

uint64_t SamplerGroup::mixed_with(const std::string& own) const {
  std::vector<uint64_t> numbers;
  for (const SamplerPtr& sampler : samplers_) numbers.push_back(sampler->fingerprint());
  return mixed_fingerprint(own, numbers);
}

}  // namespace s2s::data
