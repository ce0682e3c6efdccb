#include "sampling/cut_supply.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "sampling/pairwise_sum.h"
#include "sampling/sampling_errors.h"

namespace s2s::data {
namespace {

class LazySupply : public CutSupply {
 public:
  explicit LazySupply(std::shared_ptr<SizedStream> stream) : stream_(std::move(stream)) {}

  std::optional<SizedItem> next() override {
    if (!waiting_.empty()) {
      SizedItem item = std::move(waiting_.front());
      waiting_.pop_front();
      return item;
    }
    return stream_->next_of_all();
  }
  void take_back(SizedItem item) override { waiting_.push_back(std::move(item)); }

  void rewind(int64_t epoch) override {
    stream_->rewind(epoch);
    waiting_.clear();
  }
  StreamState state() const override {
    return {{"source", stream_->stream().state()}, {"waiting", packed_items(waiting_)}};
  }
  void restore(const StreamState& state) override {
    stream_->stream().restore(state_part(state, "source"));
    waiting_ = unpacked_items(state_field<std::string>(state, "waiting"));
  }

 private:
  std::shared_ptr<SizedStream> stream_;
  std::deque<SizedItem> waiting_;
};

// Items that are held, in an order that follows from the pass.
class HeldSupply : public CutSupply {
 public:
  explicit HeldSupply(std::vector<SizedItem> items) : items_(std::move(items)) {
    for (const SizedItem& item : items_) total_ += item.size.length;
  }

  std::optional<SizedItem> next() override {
    if (at_ == order_.size()) return std::nullopt;
    const SizedItem& item = items_[order_[at_++]];
    // As lhotse adds it up, because what is left decides about buckets.
    remaining_ -= item.size.length;
    return item;
  }
  void take_back(SizedItem item) override {
    --at_;
    remaining_ += item.size.length;
  }
  void rewind(int64_t epoch) override {
    epoch_ = epoch;
    arrange(order_, epoch);
    at_ = 0;
    remaining_ = total_;
  }
  StreamState state() const override {
    return {{"epoch", epoch_}, {"at", at_}, {"left", std::bit_cast<int64_t>(remaining_)}};
  }
  void restore(const StreamState& state) override {
    rewind(state_field<int64_t>(state, "epoch"));
    at_ = state_field<size_t>(state, "at");
    remaining_ = std::bit_cast<double>(state_field<int64_t>(state, "left"));
    if (at_ > order_.size()) throw stream_errors::damaged_state("a set has fewer cuts now");
  }
  double remaining_length() const override { return std::max(0.0, remaining_); }

 protected:
  // Fills in the order of a pass.
  virtual void arrange(std::vector<size_t>& order, int64_t epoch) = 0;
  size_t num_items() const { return items_.size(); }

 private:
  std::vector<SizedItem> items_;
  std::vector<size_t> order_;
  size_t at_ = 0;
  double total_ = 0;
  double remaining_ = 0;
  int64_t epoch_ = 0;
};

class EagerSupply : public HeldSupply {
 public:
  EagerSupply(std::vector<SizedItem> items, std::optional<int64_t> shuffle_seed)
      : HeldSupply(std::move(items)), shuffle_seed_(shuffle_seed) {
    rewind(0);
  }

 private:
  void arrange(std::vector<size_t>& order, int64_t epoch) override {
    order.resize(num_items());
    std::iota(order.begin(), order.end(), size_t{0});
    if (shuffle_seed_) PythonRandom(*shuffle_seed_ + epoch).shuffle(order);
  }
  std::optional<int64_t> shuffle_seed_;
};

class WeightedSupply : public HeldSupply {
 public:
  WeightedSupply(std::vector<SizedItem> items, const WeightedOptions& options)
      : HeldSupply(std::move(items)), options_(options) {
    probabilities_ = checked_weights(options.weights, num_items());
    const double sum = pairwise_sum(std::span<const double>(probabilities_));
    for (double& probability : probabilities_) probability /= sum;
    if (std::cmp_greater_equal(options.num_samples, num_items())) {
      throw sampling_errors::too_few_to_draw(static_cast<int64_t>(num_items()),
                                             options.num_samples);
    }
    rewind(0);
  }

 private:
  // NumPy's global generator runs on from epoch to epoch.
  void arrange(std::vector<size_t>& order, int64_t epoch) override {
    NumpyRandomState rng(options_.numpy_seed);
    for (int64_t pass = 0; pass <= epoch; ++pass) {
      order = rng.choice(probabilities_, static_cast<size_t>(options_.num_samples), false);
    }
  }
  WeightedOptions options_;
  std::vector<double> probabilities_;
};

}  // namespace

SupplyPtr lazy_supply(std::shared_ptr<SizedStream> stream) {
  return std::make_unique<LazySupply>(std::move(stream));
}

std::vector<SizedItem> all_items(SizedStream& stream) {
  stream.rewind(0);
  std::vector<SizedItem> items;
  while (std::optional<SizedItem> item = stream.next_of_all()) items.push_back(std::move(*item));
  return items;
}

SupplyPtr eager_supply(std::vector<SizedItem> items, std::optional<int64_t> shuffle_seed) {
  return std::make_unique<EagerSupply>(std::move(items), shuffle_seed);
}

SupplyPtr weighted_supply(std::vector<SizedItem> items, const WeightedOptions& options) {
  return std::make_unique<WeightedSupply>(std::move(items), options);
}

}  // namespace s2s::data
