// Takes each next item from a random position of a buffer.

#include "streams/stream_parts.h"

namespace s2s::data {
namespace {

class ShuffleStream : public OneSource {
 public:
  ShuffleStream(StreamPtr source, const ShuffleOptions& options)
      : OneSource(std::move(source), "shuffle " + std::to_string(options.buffer_size) + ' ' +
                                         std::to_string(options.seed) + " 1"),
        options_(options),
        rng_(options.seed) {}

  std::optional<CutItem> next() override {
    while (std::optional<CutItem> item = source().next()) {
      // While the buffer grows, it gets one extra item on each call.
      if (is_short()) {
        // A source stays at its end, so asking again is cheap.
        if (std::optional<CutItem> another = source().next()) buffer_.push_back(*another);
      }
      if (!buffer_.empty()) {
        const int64_t place = rng_.randint(0, static_cast<int64_t>(buffer_.size()) - 1);
        std::swap(*item, buffer_[static_cast<size_t>(place)]);
      }
      if (!is_filling_ || !is_short()) {
        is_filling_ = false;
        return item;
      }
      buffer_.push_back(std::move(*item));
    }
    return next_of_rest();
  }

  void rewind(int64_t epoch) override {
    OneSource::rewind(epoch);
    rng_.seed(options_.seed + epoch);
    buffer_.clear();
    given_ = 0;
    is_filling_ = true;
  }

  StreamState state() const override {
    StreamState state = OneSource::state();
    state["rng"] = rng_.state();
    state["filling"] = is_filling_;
    state["buffer"] = packed_keys(std::span(buffer_).subspan(given_));
    return state;
  }

  void restore(const StreamState& state) override {
    OneSource::restore(state);
    rng_.restore(state_field<std::string>(state, "rng"));
    is_filling_ = state_field<bool>(state, "filling");
    buffer_ = unpacked_keys(state_field<std::string>(state, "buffer"));
    given_ = 0;
  }

  std::optional<int64_t> size() const override { return source().size(); }

 private:
  bool is_short() const { return std::cmp_less(buffer_.size(), options_.buffer_size); }

  // After the source's end, gives the rest of the buffer in its order.
  std::optional<CutItem> next_of_rest() {
    if (given_ == buffer_.size()) return std::nullopt;
    return std::move(buffer_[given_++]);
  }

  ShuffleOptions options_;
  PythonRandom rng_;
  std::vector<CutItem> buffer_;
  size_t given_ = 0;  // items of the buffer that were given since the source's end
  bool is_filling_ = true;
};

}  // namespace

StreamPtr shuffle(StreamPtr source, const ShuffleOptions& options) {
  S2S_ASSERT(options.buffer_size > 0, "a buffer");
  return std::make_unique<ShuffleStream>(std::move(source), options);
}

}  // namespace s2s::data
