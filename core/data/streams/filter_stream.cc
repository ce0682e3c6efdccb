// Streams of some of a source's items: those that pass a test, or the first ones.

#include "streams/stream_parts.h"

namespace s2s::data {
namespace {

class FilterStream : public OneSource {
 public:
  FilterStream(StreamPtr source, CutTest test, const std::string& name)
      : OneSource(std::move(source), "filter " + name), test_(std::move(test)) {}

  std::optional<CutItem> next() override {
    while (std::optional<CutItem> item = source().next()) {
      item->cut = cut_of(*item, source());
      if (test_(*item->cut)) return item;
    }
    return std::nullopt;
  }

 private:
  CutTest test_;
};

class FirstStream : public OneSource {
 public:
  FirstStream(StreamPtr source, int64_t limit)
      : OneSource(std::move(source), "first " + std::to_string(limit)), limit_(limit) {}

  std::optional<CutItem> next() override {
    if (count_ >= limit_) return std::nullopt;
    ++count_;
    return source().next();
  }

  void rewind(int64_t epoch) override {
    OneSource::rewind(epoch);
    count_ = 0;
  }
  StreamState state() const override {
    StreamState state = OneSource::state();
    state["count"] = count_;
    return state;
  }
  void restore(const StreamState& state) override {
    OneSource::restore(state);
    count_ = state_field<int64_t>(state, "count");
  }

  std::optional<int64_t> size() const override {
    const std::optional<int64_t> size = source().size();
    return size ? std::optional(std::min(*size, limit_)) : std::nullopt;
  }

 private:
  int64_t limit_;
  int64_t count_ = 0;  // items of the source that were read
};

}  // namespace

StreamPtr filter(StreamPtr source, CutTest test, std::string name) {
  return std::make_unique<FilterStream>(std::move(source), std::move(test), name);
}

StreamPtr first(StreamPtr source, int64_t count) {
  return std::make_unique<FirstStream>(std::move(source), count);
}

}  // namespace s2s::data
