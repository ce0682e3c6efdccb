// A batch of each sampler, joined.   Source: lhotse dataset/sampling/zip.py.

#include "samplers/sampler_group.h"

namespace s2s::data {
namespace {

class ZipSampler : public SamplerGroup {
 public:
  using SamplerGroup::SamplerGroup;

  std::optional<SampledBatch> next() override {
    SampledBatch joined;
    for (size_t number = 0; number < size(); ++number) {
      std::optional<SampledBatch> batch = next_of(number);
      if (!batch) return std::nullopt;
      std::move(batch->items.begin(), batch->items.end(), std::back_inserter(joined.items));
    }
    return joined;
  }

  uint64_t fingerprint() const override { return mixed_with("zip"); }
};

}  // namespace

SamplerPtr zip_sampler(std::vector<SamplerPtr> samplers) {
  S2S_ASSERT(!samplers.empty(), "something to join");
  return std::make_unique<ZipSampler>(std::move(samplers));
}

}  // namespace s2s::data
