// An endless stream of items from a few open streams, which are drawn by weight with replacement.

#include <algorithm>
#include <sstream>

#include "streams/stream_parts.h"

namespace s2s::data {
namespace {

class InfiniteMuxStream : public ManySources {
 public:
  InfiniteMuxStream(std::vector<StreamMaker> makers, const InfiniteMuxOptions& options)
      : ManySources({}),
        makers_(std::move(makers)),
        seed_(options.seed),
        weights_(checked_weights(options.weights, makers_.size())),
        sums_(running_sums(weights_)) {
    // These streams serve `make` only.
    for (const StreamMaker& maker : makers_) sources_.push_back(maker());
    const auto all = static_cast<int64_t>(makers_.size());
    places_.resize(static_cast<size_t>(std::min(options.max_open_streams.value_or(all), all)));
    rewind(0);
  }

  std::optional<CutItem> next() override {
    if (num_empty_ == sources_.size()) return std::nullopt;
    const size_t place = drawn_place();
    std::optional<CutItem> item = next_of(places_[place]);
    while (!item && num_empty_ < sources_.size()) {
      draw_source(place);
      item = next_of(places_[place]);
    }
    return item;
  }

  void rewind(int64_t epoch) override {
    rng_.seed(seed_);
    passes_.assign(sources_.size(), epoch);
    is_empty_.assign(sources_.size(), false);
    num_empty_ = 0;
    for (size_t place = 0; place < places_.size(); ++place) draw_source(place);
  }

  StreamState state() const override {
    StreamState places = StreamState::array();
    for (const Place& place : places_) {
      places.push_back({{"source", place.source},
                        {"has_items", place.has_items},
                        {"at", place.stream ? place.stream->state() : StreamState()}});
    }
    return {{"rng", rng_.state()},
            {"passes", passes_},
            {"empty", is_empty_},
            {"places", std::move(places)}};
  }

  void restore(const StreamState& state) override {
    const StreamState& places = state_list(state, "places", places_.size());
    state_list(state, "passes", sources_.size());
    state_list(state, "empty", sources_.size());
    rng_.restore(state_field<std::string>(state, "rng"));
    passes_ = state_field<std::vector<int64_t>>(state, "passes");
    is_empty_ = state_field<std::vector<bool>>(state, "empty");
    num_empty_ = static_cast<size_t>(std::count(is_empty_.begin(), is_empty_.end(), true));
    for (size_t i = 0; i < places_.size(); ++i) restore_place(places_[i], places[i]);
    sum_up_places();
  }

  uint64_t fingerprint() const override {
    std::ostringstream text;
    text << std::hexfloat << "infinite_mux " << seed_ << ' ' << places_.size();
    for (const double weight : weights_) text << ' ' << weight;
    return mixed_fingerprint(text.str(), sources_);
  }

 private:
  struct Place {
    size_t source = 0;
    /// Null before its first item, because lhotse counts a pass when it is first read.
    StreamPtr stream;
    bool has_items = false;
  };

  size_t drawn_place() {
    return sums_of_places_.back() > 0 ? rng_.choices(sums_of_places_)
                                      : rng_.choices(places_.size());
  }

  void draw_source(size_t place) {
    places_[place] = {rng_.choices(sums_), nullptr, false};
    sum_up_places();
  }

  void sum_up_places() {
    std::vector<double> weights;
    for (const Place& place : places_) weights.push_back(weights_[place.source]);
    sums_of_places_ = running_sums(weights);
  }

  // Returns the next item of an open stream, or nothing at its end.
  std::optional<CutItem> next_of(Place& place) {
    if (!place.stream) {
      place.stream = makers_[place.source]();
      place.stream->rewind(passes_[place.source]);
    }
    std::optional<CutItem> item = place.stream->next();
    if (item) {
      place.has_items = true;
      item->key = with_front(static_cast<int64_t>(place.source), std::move(item->key));
      return item;
    }
    ++passes_[place.source];
    if (!place.has_items && !is_empty_[place.source]) {
      is_empty_[place.source] = true;
      ++num_empty_;
    }
    return std::nullopt;
  }

  void restore_place(Place& place, const StreamState& state) {
    place.source = state_field<size_t>(state, "source");
    place.has_items = state_field<bool>(state, "has_items");
    if (place.source >= sources_.size()) throw stream_errors::damaged_state("no such source");
    place.stream = nullptr;
    const StreamState& at = state_part(state, "at");
    if (at.is_null()) return;
    place.stream = makers_[place.source]();
    place.stream->restore(at);
  }

  std::vector<StreamMaker> makers_;
  int64_t seed_;
  std::vector<double> weights_;
  std::vector<double> sums_;
  std::vector<Place> places_;
  std::vector<double> sums_of_places_;
  std::vector<int64_t> passes_;  // finished passes of each source
  std::vector<bool> is_empty_;
  size_t num_empty_ = 0;
  PythonRandom rng_;
};

}  // namespace

StreamPtr infinite_mux(std::vector<StreamMaker> sources, const InfiniteMuxOptions& options) {
  S2S_ASSERT(!sources.empty() && options.max_open_streams.value_or(1) >= 1, "something to mix");
  return std::make_unique<InfiniteMuxStream>(std::move(sources), options);
}

}  // namespace s2s::data
