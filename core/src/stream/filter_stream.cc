// Some of a stream's items: those that pass a test, the first ones, every n-th.

#include "stream/stream_parts.h"

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

// Items by their number in the pass.
class CountedStream : public OneSource {
 public:
  using OneSource::OneSource;

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

 protected:
  int64_t count_ = 0;  // of the source's items that were read
};

class FirstStream : public CountedStream {
 public:
  FirstStream(StreamPtr source, int64_t limit)
      : CountedStream(std::move(source), "first " + std::to_string(limit)), limit_(limit) {}

  std::optional<CutItem> next() override {
    if (count_ >= limit_) return std::nullopt;
    ++count_;
    return source().next();
  }

  std::optional<int64_t> size() const override {
    const std::optional<int64_t> size = source().size();
    return size ? std::optional(std::min(*size, limit_)) : std::nullopt;
  }

 private:
  int64_t limit_;
};

class EveryNthStream : public CountedStream {
 public:
  EveryNthStream(StreamPtr source, int64_t part, int64_t num_parts)
      : CountedStream(std::move(source),
                      "every " + std::to_string(part) + ' ' + std::to_string(num_parts)),
        part_(part),
        num_parts_(num_parts) {}

  std::optional<CutItem> next() override {
    while (std::optional<CutItem> item = source().next()) {
      if (count_++ % num_parts_ == part_) return item;
    }
    return std::nullopt;
  }

  std::optional<int64_t> size() const override {
    const std::optional<int64_t> size = source().size();
    return size ? std::optional((*size - part_ + num_parts_ - 1) / num_parts_) : std::nullopt;
  }

 private:
  int64_t part_;
  int64_t num_parts_;
};

}  // namespace

StreamPtr filter(StreamPtr source, CutTest test, std::string name) {
  return std::make_unique<FilterStream>(std::move(source), std::move(test), name);
}

StreamPtr first(StreamPtr source, int64_t count) {
  return std::make_unique<FirstStream>(std::move(source), count);
}

StreamPtr every_nth(StreamPtr source, int64_t part, int64_t num_parts) {
  S2S_ASSERT(part >= 0 && part < num_parts, "one of the parts");
  return std::make_unique<EveryNthStream>(std::move(source), part, num_parts);
}

}  // namespace s2s::data
