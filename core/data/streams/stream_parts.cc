#include "streams/stream_parts.h"

#include <cmath>

#include "base/fnv.h"
#include "streams/packed_text.h"

namespace s2s::data {

const StreamState& state_part(const StreamState& state, const char* name) {
  const auto found = state.is_object() ? state.find(name) : state.end();
  if (found == state.end()) {
    throw stream_errors::damaged_state(std::string("'") + name + "' is missing");
  }
  return *found;
}

const StreamState& state_list(const StreamState& state, const char* name, size_t size) {
  const StreamState& list = state_part(state, name);
  if (!list.is_array() || list.size() != size) {
    throw stream_errors::damaged_state(std::string("'") + name + "' is no list of " +
                                       std::to_string(size));
  }
  return list;
}

std::string packed_keys(std::span<const CutItem> items) {
  PackedWriter writer;
  writer.add(static_cast<int64_t>(items.size()));
  for (const CutItem& item : items) writer.add_all(item.key);
  return writer.text();
}

std::vector<CutItem> unpacked_keys(const std::string& text) {
  PackedReader reader(text);
  std::vector<CutItem> items;
  for (int64_t left = reader.next(); left > 0; --left)
    items.push_back({reader.next_all(), nullptr});
  if (!reader.at_end()) throw stream_errors::damaged_state("a list of items is too long");
  return items;
}

CutKey with_front(int64_t number, CutKey key) {
  key.insert(key.begin(), number);
  return key;
}

int64_t take_front(CutKeyView& key, int64_t end) {
  if (key.empty() || key[0] < 0 || key[0] >= end) {
    throw stream_errors::damaged_state("a key is not one of this stream");
  }
  const int64_t number = key[0];
  key = key.subspan(1);
  return number;
}

uint64_t mixed_fingerprint(const std::string& own, std::span<const uint64_t> sources) {
  uint64_t hash = fnv1a(own);
  for (const uint64_t source : sources) hash = fnv1a("/" + std::to_string(source), hash);
  return hash;
}

uint64_t mixed_fingerprint(const std::string& own, std::span<const StreamPtr> sources) {
  std::vector<uint64_t> numbers;
  numbers.reserve(sources.size());
  for (const StreamPtr& source : sources) numbers.push_back(source->fingerprint());
  return mixed_fingerprint(own, numbers);
}

std::vector<double> checked_weights(const std::vector<double>& weights, size_t num_sources) {
  if (weights.empty()) return std::vector<double>(num_sources, 1.0);
  if (weights.size() != num_sources) {
    throw stream_errors::weights(std::to_string(weights.size()) + " for " +
                                 std::to_string(num_sources) + " sources");
  }
  double sum = 0;
  for (const double weight : weights) {
    if (!(weight >= 0)) throw stream_errors::weights(std::to_string(weight) + " is one of them");
    sum += weight;
  }
  if (!(sum > 0) || !std::isfinite(sum)) {
    throw stream_errors::weights("they add up to " + std::to_string(sum));
  }
  return weights;
}

CutPtr ManySources::make(CutKeyView key) const {
  const int64_t number = take_front(key, static_cast<int64_t>(sources_.size()));
  return sources_[static_cast<size_t>(number)]->make(key);
}

std::optional<int64_t> ManySources::total_size() const {
  int64_t sum = 0;
  for (const StreamPtr& source : sources_) {
    const std::optional<int64_t> size = source->size();
    if (!size) return std::nullopt;
    sum += *size;
  }
  return sum;
}

std::optional<CutItem> LeafStream::next() {
  while (std::optional<CutKey> key = next_row()) {
    CutPtr cut;
    is_good(on_bad_, [&] { cut = read_row(*key); });
    if (cut) return CutItem{std::move(*key), std::move(cut)};
  }
  return std::nullopt;
}

CutPtr cut_of(const CutItem& item, const CutStream& stream) {
  return item.cut ? item.cut : stream.make(item.key);
}

}  // namespace s2s::data
