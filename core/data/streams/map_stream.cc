// Changes a stream's cuts: each one, each into several, or each by numbers that are drawn for it.

#include "streams/packed_text.h"
#include "streams/stream_parts.h"

namespace s2s::data {
namespace {

class MapStream : public OneSource {
 public:
  MapStream(StreamPtr source, CutFunction function, const std::string& name)
      : OneSource(std::move(source), "map " + name), function_(std::move(function)) {}

  std::optional<CutItem> next() override {
    std::optional<CutItem> item = source().next();
    // An item without a cut stays without one, and `make` changes the cut later.
    if (item && item->cut) item->cut = function_(item->cut);
    return item;
  }

  CutPtr make(CutKeyView key) const override { return function_(source().make(key)); }
  std::optional<int64_t> size() const override { return source().size(); }

 private:
  CutFunction function_;
};

class FlatMapStream : public OneSource {
 public:
  FlatMapStream(StreamPtr source, CutParts parts, const std::string& name)
      : OneSource(std::move(source), "flat_map " + name), parts_(std::move(parts)) {}

  std::optional<CutItem> next() override {
    if (has_whole_ && cuts_.empty()) {
      cuts_ = parts_(source().make(whole_));
      if (at_ >= cuts_.size()) throw stream_errors::damaged_state("a cut has fewer parts now");
    }
    while (at_ == cuts_.size()) {
      const std::optional<CutItem> item = source().next();
      clear();
      if (!item) return std::nullopt;
      whole_ = item->key;
      has_whole_ = true;
      cuts_ = parts_(cut_of(*item, source()));
    }
    const auto part = static_cast<int64_t>(at_);
    CutItem item = {with_front(part, whole_), std::move(cuts_[at_++])};
    // A cut whose parts are all used needs no work after a restore.
    if (at_ == cuts_.size()) clear();
    return item;
  }

  void rewind(int64_t epoch) override {
    OneSource::rewind(epoch);
    clear();
  }

  StreamState state() const override {
    StreamState state = OneSource::state();
    if (has_whole_) {
      state["whole"] = whole_;
      state["at"] = at_;
    }
    return state;
  }

  void restore(const StreamState& state) override {
    OneSource::restore(state);
    clear();
    if (!state.contains("whole")) return;
    has_whole_ = true;
    whole_ = state_field<CutKey>(state, "whole");
    at_ = state_field<size_t>(state, "at");
  }

  CutPtr make(CutKeyView key) const override {
    const auto part = static_cast<size_t>(take_front(key, INT64_MAX));
    std::vector<CutPtr> cuts = parts_(source().make(key));
    if (part >= cuts.size()) throw stream_errors::damaged_state("a cut has fewer parts now");
    return std::move(cuts[part]);
  }

 private:
  void clear() {
    cuts_.clear();
    whole_.clear();
    at_ = 0;
    has_whole_ = false;
  }

  CutParts parts_;
  CutKey whole_;  // key of the cut whose parts are given
  bool has_whole_ = false;
  std::vector<CutPtr> cuts_;  // its parts; empty after a restore, until they are needed
  size_t at_ = 0;
};

class DrawStream : public OneSource {
 public:
  DrawStream(StreamPtr source, CutDraws draws, CutDrawsFunction function, const std::string& name,
             int64_t seed)
      : OneSource(std::move(source), "draw " + std::to_string(seed) + " 2 " + name),
        draws_(std::move(draws)),
        function_(std::move(function)),
        seed_(seed),
        rng_(seed) {}

  std::optional<CutItem> next() override {
    std::optional<CutItem> item = source().next();
    if (!item) return std::nullopt;
    const CutPtr cut = cut_of(*item, source());
    CutKey key = draws_(*cut, rng_);
    item->cut = function_(cut, key);
    key.insert(key.begin(), static_cast<int64_t>(key.size()));
    key.insert(key.end(), item->key.begin(), item->key.end());
    item->key = std::move(key);
    return item;
  }

  void rewind(int64_t epoch) override {
    OneSource::rewind(epoch);
    if (epoch <= 0) rng_.seed(seed_);
  }

  StreamState state() const override {
    StreamState state = OneSource::state();
    state["rng"] = rng_.state();
    return state;
  }

  void restore(const StreamState& state) override {
    OneSource::restore(state);
    rng_.restore(state_field<std::string>(state, "rng"));
  }

  CutPtr make(CutKeyView key) const override {
    const auto count = static_cast<size_t>(take_front(key, static_cast<int64_t>(key.size())));
    return function_(source().make(key.subspan(count)), key.first(count));
  }

  std::optional<int64_t> size() const override { return source().size(); }

 private:
  CutDraws draws_;
  CutDrawsFunction function_;
  int64_t seed_;
  PythonRandom rng_;
};

}  // namespace

StreamPtr map(StreamPtr source, CutFunction function, std::string name) {
  return std::make_unique<MapStream>(std::move(source), std::move(function), name);
}

StreamPtr flat_map(StreamPtr source, CutParts parts, std::string name) {
  return std::make_unique<FlatMapStream>(std::move(source), std::move(parts), name);
}

StreamPtr map_with_draws(StreamPtr source, CutDraws draws, CutDrawsFunction function,
                         std::string name, int64_t seed) {
  return std::make_unique<DrawStream>(std::move(source), std::move(draws), std::move(function),
                                      name, seed);
}

}  // namespace s2s::data
