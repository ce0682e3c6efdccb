// Gives the items of its sources, one source after the other.

#include "streams/stream_parts.h"

namespace s2s::data {
namespace {

class ChainStream : public ManySources {
 public:
  explicit ChainStream(std::vector<StreamPtr> sources) : ManySources(std::move(sources)) {}

  std::optional<CutItem> next() override {
    for (; at_ < sources_.size(); end_source()) {
      CutStream& source = *sources_[at_];
      if (!is_open_) open(source);
      std::optional<CutItem> item = source.next();
      if (!item) continue;
      --left_;
      return CutItem{with_front(static_cast<int64_t>(at_), std::move(item->key)),
                     std::move(item->cut)};
    }
    return std::nullopt;
  }

  void rewind(int64_t epoch) override {
    epoch_ = epoch;
    at_ = 0;
    is_open_ = false;
  }

  StreamState state() const override {
    StreamState state = {{"epoch", epoch_}, {"at", at_}, {"open", is_open_}, {"left", left_}};
    if (is_open_) state["source"] = sources_[at_]->state();
    return state;
  }

  void restore(const StreamState& state) override {
    rewind(state_field<int64_t>(state, "epoch"));
    at_ = state_field<size_t>(state, "at");
    is_open_ = state_field<bool>(state, "open");
    left_ = state_field<int64_t>(state, "left");
    if (!is_open_) return;
    if (at_ >= sources_.size()) throw stream_errors::damaged_state("a chain is beyond its end");
    sources_[at_]->restore(state_part(state, "source"));
  }

  uint64_t fingerprint() const override { return mixed_fingerprint("chain 0 0 1 -1 0", sources_); }

  std::optional<int64_t> size() const override { return total_size(); }

 private:
  void end_source() {
    ++at_;
    is_open_ = false;
  }

  void open(CutStream& source) {
    source.rewind(epoch_);
    is_open_ = true;
    left_ = INT64_MAX;
  }

  int64_t epoch_ = 0;
  size_t at_ = 0;  // in sources_
  bool is_open_ = false;
  /// Limit for the open source; never reached, but saved positions have the field.
  int64_t left_ = 0;
};

}  // namespace

StreamPtr chain(std::vector<StreamPtr> sources) {
  return std::make_unique<ChainStream>(std::move(sources));
}

}  // namespace s2s::data
