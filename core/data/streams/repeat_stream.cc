// Repeats the passes of a stream.

#include "streams/stream_parts.h"

namespace s2s::data {
namespace {

class RepeatStream : public OneSource {
 public:
  RepeatStream(StreamPtr source, bool preserve_id)
      : OneSource(std::move(source), "repeat -1 " + std::to_string(preserve_id)),
        preserve_id_(preserve_id) {}

  std::optional<CutItem> next() override {
    for (;;) {
      if (std::optional<CutItem> item = source().next()) {
        has_items_ = true;
        return named(std::move(*item));
      }
      if (!has_items_) return std::nullopt;
      begin(pass_ + 1);
    }
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

  CutPtr make(CutKeyView key) const override {
    if (preserve_id_) return source().make(key);
    const int64_t pass = take_front(key, INT64_MAX);
    return renamed(*source().make(key), pass);
  }

 private:
  static CutPtr renamed(const Cut& cut, int64_t pass) {
    auto copy = std::make_shared<Cut>(cut);
    copy->id += "_repeat" + std::to_string(pass);
    return copy;
  }

  CutItem named(CutItem item) const {
    if (preserve_id_) return item;
    item.key = with_front(pass_, std::move(item.key));
    if (item.cut) item.cut = renamed(*item.cut, pass_);
    return item;
  }

  void begin(int64_t pass) {
    pass_ = pass;
    has_items_ = false;
    source().rewind(epoch_ + pass);
  }

  bool preserve_id_;
  int64_t epoch_ = 0;
  int64_t pass_ = 0;
  bool has_items_ = false;  // this pass has given an item
};

}  // namespace

StreamPtr repeat(StreamPtr source, bool preserve_id) {
  return std::make_unique<RepeatStream>(std::move(source), preserve_id);
}

}  // namespace s2s::data
