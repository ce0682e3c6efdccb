// Takes each next item from a source that is drawn by weight.

#include <sstream>

#include "streams/stream_parts.h"

namespace s2s::data {
namespace {

class MuxStream : public ManySources {
 public:
  MuxStream(std::vector<StreamPtr> sources, const MuxOptions& options)
      : ManySources(std::move(sources)),
        options_(options),
        weights_(checked_weights(options.weights, sources_.size())),
        has_ended_(sources_.size(), false) {
    find_active();
    rng_.seed(options_.seed);
  }

  std::optional<CutItem> next() override {
    while (!active_.empty() && sums_.back() > 0) {
      const size_t number = active_[rng_.choices(sums_)];
      std::optional<CutItem> item = sources_[number]->next();
      if (item) {
        item->key = with_front(static_cast<int64_t>(number), std::move(item->key));
        return item;
      }
      has_ended_[number] = true;
      find_active();
    }
    return std::nullopt;
  }

  void rewind(int64_t epoch) override {
    rng_.seed(options_.seed);
    for (const StreamPtr& source : sources_) source->rewind(epoch);
    has_ended_.assign(sources_.size(), false);
    find_active();
  }

  StreamState state() const override {
    StreamState sources = StreamState::array();
    for (const StreamPtr& source : sources_) sources.push_back(source->state());
    return {{"rng", rng_.state()}, {"ended", has_ended_}, {"sources", std::move(sources)}};
  }

  void restore(const StreamState& state) override {
    const StreamState& sources = state_list(state, "sources", sources_.size());
    state_list(state, "ended", sources_.size());
    rng_.restore(state_field<std::string>(state, "rng"));
    has_ended_ = state_field<std::vector<bool>>(state, "ended");
    for (size_t i = 0; i < sources_.size(); ++i) sources_[i]->restore(sources[i]);
    find_active();
  }

  uint64_t fingerprint() const override {
    std::ostringstream text;
    text << std::hexfloat << "mux " << options_.seed << " 0";
    for (const double weight : weights_) text << ' ' << weight;
    return mixed_fingerprint(text.str(), sources_);
  }

  std::optional<int64_t> size() const override { return total_size(); }

 private:
  // Sets active_ and sums_ to the sources that have not ended.
  void find_active() {
    active_.clear();
    std::vector<double> weights;
    for (size_t i = 0; i < sources_.size(); ++i) {
      if (has_ended_[i]) continue;
      active_.push_back(i);
      weights.push_back(weights_[i]);
    }
    sums_ = running_sums(weights);
  }

  MuxOptions options_;
  std::vector<double> weights_;
  std::vector<bool> has_ended_;
  std::vector<size_t> active_;
  std::vector<double> sums_;  // of the weights of active_
  PythonRandom rng_;
};

}  // namespace

StreamPtr mux(std::vector<StreamPtr> sources, const MuxOptions& options) {
  S2S_ASSERT(!sources.empty(), "something to mix");
  return std::make_unique<MuxStream>(std::move(sources), options);
}

}  // namespace s2s::data
