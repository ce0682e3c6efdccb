// The sources one after the other, in a given or a random order, whole or a slice of each.

#include <numeric>
#include <sstream>

#include "stream/stream_parts.h"

namespace s2s::data {
namespace {

using Order = ChainOptions::Order;

std::string description(const ChainOptions& options) {
  std::ostringstream text;
  text << "chain " << static_cast<int>(options.order) << ' ' << options.seed << ' '
       << static_cast<int>(options.pass_seed) << ' ' << options.slice_length.value_or(-1) << ' '
       << options.one_generator;
  return text.str();
}

class ChainStream : public CutStream {
 public:
  ChainStream(std::vector<StreamPtr> sources, const ChainOptions& options)
      : sources_(std::move(sources)), options_(options), order_(sources_.size()) {
    rewind(0);
  }

  std::optional<CutItem> next() override {
    for (; at_ < order_.size(); end_source()) {
      const auto number = static_cast<size_t>(order_[at_]);
      CutStream& source = *sources_[number];
      if (!is_open_) open(source);
      if (left_ == 0) continue;
      std::optional<CutItem> item = source.next();
      if (!item) continue;
      --left_;
      return CutItem{with_front(order_[at_], std::move(item->token)), std::move(item->cut)};
    }
    return std::nullopt;
  }

  void rewind(int64_t epoch) override {
    arrange(epoch);
    epoch_ = epoch;
    at_ = 0;
    is_open_ = false;
  }

  StreamState state() const override {
    StreamState state = {{"epoch", epoch_}, {"at", at_}, {"open", is_open_}, {"left", left_}};
    if (options_.slice_length) state["rng"] = slices_.state();
    if (is_open_) state["source"] = sources_[static_cast<size_t>(order_[at_])]->state();
    return state;
  }

  void restore(const StreamState& state) override {
    rewind(state_field<int64_t>(state, "epoch"));
    at_ = state_field<size_t>(state, "at");
    is_open_ = state_field<bool>(state, "open");
    left_ = state_field<int64_t>(state, "left");
    if (options_.slice_length) slices_.restore(state_field<std::string>(state, "rng"));
    if (!is_open_) return;
    if (at_ >= order_.size()) throw stream_errors::damaged_state("a chain is beyond its end");
    sources_[static_cast<size_t>(order_[at_])]->restore(state_part(state, "source"));
  }

  CutPtr make(TokenView token) const override {
    const int64_t number = take_front(token, static_cast<int64_t>(sources_.size()));
    return sources_[static_cast<size_t>(number)]->make(token);
  }

  uint64_t fingerprint() const override {
    return mixed_fingerprint(description(options_), sources_);
  }

  std::optional<int64_t> size() const override {
    int64_t sum = 0;
    for (const StreamPtr& source : sources_) {
      const std::optional<int64_t> size = source->size();
      if (!size) return std::nullopt;
      sum += options_.slice_length ? std::min(*size, *options_.slice_length) : *size;
    }
    return sum;
  }

 private:
  void end_source() {
    ++at_;
    is_open_ = false;
  }

  // order_: of pass `epoch`. Passes follow each other, so one shuffle each is enough, except after
  // a restore.
  void arrange(int64_t epoch) {
    const bool goes_on = options_.order == Order::kShuffledOn && epoch == epoch_ + 1;
    if (!goes_on) std::iota(order_.begin(), order_.end(), int64_t{0});
    const bool is_shuffled_on = options_.order == Order::kShuffledOn;
    for (int64_t pass = goes_on || !is_shuffled_on ? epoch : 0; pass <= epoch; ++pass) {
      PythonRandom rng;
      begin_pass(rng, options_.seed, options_.pass_seed, pass);
      if (options_.order != Order::kGiven) rng.shuffle(order_);
      if (options_.one_generator) slices_ = rng;
    }
    if (!options_.one_generator) begin_pass(slices_, options_.seed, options_.pass_seed, epoch);
  }

  // Begins a source, at its slice.
  void open(CutStream& source) {
    source.rewind(epoch_);
    is_open_ = true;
    left_ = INT64_MAX;
    if (!options_.slice_length) return;
    left_ = *options_.slice_length;
    const int64_t size = size_of(source);
    if (left_ >= size) return;
    for (int64_t skip = slices_.randint(0, size - left_); skip > 0; --skip) source.next();
  }

  int64_t size_of(CutStream& source) const {
    if (const std::optional<int64_t> size = source.size()) return *size;
    int64_t size = 0;
    while (source.next()) ++size;
    source.rewind(epoch_);
    return size;
  }

  std::vector<StreamPtr> sources_;
  ChainOptions options_;
  std::vector<int64_t> order_;
  PythonRandom slices_;
  int64_t epoch_ = -2;  // no pass yet, and none before the first
  size_t at_ = 0;       // in order_
  bool is_open_ = false;
  int64_t left_ = 0;  // of the open source's slice
};

}  // namespace

StreamPtr chain(std::vector<StreamPtr> sources, const ChainOptions& options) {
  S2S_ASSERT(options.pass_seed != PassSeed::kRunsOn || options.order == Order::kGiven,
             "an order of sources follows from the pass");
  return std::make_unique<ChainStream>(std::move(sources), options);
}

}  // namespace s2s::data
