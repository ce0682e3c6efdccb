// Passes of a stream, one after the other.

#include "stream/stream_parts.h"

namespace s2s::data {
namespace {

class RepeatStream : public OneSource {
 public:
  RepeatStream(StreamPtr source, std::optional<int64_t> times, bool preserve_id)
      : OneSource(std::move(source), "repeat " + std::to_string(times.value_or(-1)) + ' ' +
                                         std::to_string(preserve_id)),
        times_(times),
        preserve_id_(preserve_id) {}

  std::optional<CutItem> next() override {
    while (!times_ || pass_ < *times_) {
      if (std::optional<CutItem> item = source().next()) {
        has_items_ = true;
        return named(std::move(*item));
      }
      if (!has_items_) return std::nullopt;
      begin(pass_ + 1);
    }
    return std::nullopt;
  }

  void rewind(int64_t epoch) override {
    epoch_ = epoch;
    begin(0);
  }

  StreamState state() const override {
    StreamState state = OneSource::state();
    state["epoch"] = epoch_;
    state["pass"] = pass_;
    state["has_items"] = has_items_;
    return state;
  }

  void restore(const StreamState& state) override {
    OneSource::restore(state);
    epoch_ = state_field<int64_t>(state, "epoch");
    pass_ = state_field<int64_t>(state, "pass");
    has_items_ = state_field<bool>(state, "has_items");
  }

  CutPtr make(TokenView token) const override {
    if (preserve_id_) return source().make(token);
    const int64_t pass = take_front(token, INT64_MAX);
    return renamed(*source().make(token), pass);
  }

  std::optional<int64_t> size() const override {
    const std::optional<int64_t> size = source().size();
    if (!size || !times_) return std::nullopt;
    return *size * *times_;
  }

 private:
  static CutPtr renamed(const Cut& cut, int64_t pass) {
    auto copy = std::make_shared<Cut>(cut);
    copy->id += "_repeat" + std::to_string(pass);
    return copy;
  }

  CutItem named(CutItem item) const {
    if (preserve_id_) return item;
    item.token = with_front(pass_, std::move(item.token));
    if (item.cut) item.cut = renamed(*item.cut, pass_);
    return item;
  }

  // Every pass of ours is `times_` of the source's.
  void begin(int64_t pass) {
    pass_ = pass;
    has_items_ = false;
    if (!times_ || pass < *times_) source().rewind(epoch_ * times_.value_or(1) + pass);
  }

  std::optional<int64_t> times_;
  bool preserve_id_;
  int64_t epoch_ = 0;
  int64_t pass_ = 0;
  bool has_items_ = false;  // the pass has given one
};

}  // namespace

StreamPtr repeat(StreamPtr source, std::optional<int64_t> times, bool preserve_id) {
  S2S_ASSERT(times.value_or(1) > 0, "at least one pass");
  return std::make_unique<RepeatStream>(std::move(source), times, preserve_id);
}

}  // namespace s2s::data
