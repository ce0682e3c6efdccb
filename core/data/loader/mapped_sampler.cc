#include "loader/mapped_sampler.h"

#include <limits>
#include <utility>

#include "streams/stream_parts.h"

namespace s2s::data {
namespace {

class MappedSampler : public OneSampler {
 public:
  MappedSampler(SamplerPtr source, CutDraws draws, CutDrawsFunction function,
                const BatchDraws& options)
      : OneSampler(std::move(source), options.name + " " + std::to_string(options.seed)),
        draws_(std::move(draws)),
        function_(std::move(function)),
        seed_(options.seed),
        random_(options.seed) {}

  std::optional<SampledBatch> next() override {
    std::optional<SampledBatch> batch = source().next();
    if (!batch) return std::nullopt;
    for (CutItem& item : batch->items) {
      const CutPtr cut = cut_of_item(item);
      const std::vector<int64_t> drawn = draws_(*cut, random_);
      CutKey key = {static_cast<int64_t>(drawn.size())};
      key.insert(key.end(), drawn.begin(), drawn.end());
      key.insert(key.end(), item.key.begin(), item.key.end());
      item.key = std::move(key);
      item.cut = drawn.empty() ? cut : function_(cut, drawn);
    }
    return batch;
  }

  void rewind(int64_t epoch) override {
    OneSampler::rewind(epoch);
    if (epoch <= 0) random_.seed(seed_);
  }

  StreamState state() const override {
    StreamState state = OneSampler::state();
    state["random"] = random_.state();
    return state;
  }

  void restore(const StreamState& state) override {
    OneSampler::restore(state);
    random_.restore(state_field<std::string>(state, "random"));
  }

  CutPtr make(CutKeyView key) const override {
    const auto count = static_cast<size_t>(take_front(key, static_cast<int64_t>(key.size())));
    const CutPtr cut = source().make(key.subspan(count));
    return count == 0 ? cut : function_(cut, key.first(count));
  }

 private:
  CutDraws draws_;
  CutDrawsFunction function_;
  int64_t seed_;
  PythonRandom random_;
};

}  // namespace

StreamState OneSampler::state() const { return {{"source", source_->state()}}; }

void OneSampler::restore(const StreamState& state) {
  source_->restore(state_part(state, "source"));
}

uint64_t OneSampler::fingerprint() const {
  const uint64_t source = source_->fingerprint();
  return mixed_fingerprint(name_, std::span<const uint64_t>(&source, 1));
}

CutPtr OneSampler::cut_of_item(const CutItem& item) const {
  return item.cut ? item.cut : source_->make(item.key);
}

SamplerPtr map_batches_with_draws(SamplerPtr source, CutDraws draws, CutDrawsFunction function,
                                  const BatchDraws& options) {
  return std::make_unique<MappedSampler>(std::move(source), std::move(draws), std::move(function),
                                         options);
}

}  // namespace s2s::data
