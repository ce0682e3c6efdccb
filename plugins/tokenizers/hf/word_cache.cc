#include "word_cache.h"

#include <cstring>
#include <functional>

namespace s2s::hf_plugin {
namespace {

constexpr size_t kNumSlots = size_t{1} << 15;
constexpr size_t kMaxWords = kNumSlots / 2;
constexpr size_t kMaxTextBytes = size_t{2} << 20;

}  // namespace

WordCache::WordCache() : slots_(kNumSlots) {}

size_t WordCache::find(std::string_view word, uint64_t hash) const {
  size_t at = hash & (kNumSlots - 1);
  for (;; at = (at + 1) & (kNumSlots - 1)) {
    const Slot& slot = slots_[at];
    if (slot.word_bytes == 0) return at;
    if (slot.hash == hash && slot.word_bytes == word.size() &&
        std::memcmp(texts_.data() + slot.text, word.data(), word.size()) == 0) {
      return at;
    }
  }
}

bool WordCache::append(std::string_view word, std::vector<int64_t>& ids) {
  const Slot& slot = slots_[find(word, std::hash<std::string_view>{}(word))];
  if (slot.word_bytes == 0) return false;
  const int32_t* first = ids_.data() + slot.ids;
  for (uint32_t i = 0; i < slot.num_ids; ++i) ids.push_back(first[i]);
  return true;
}

void WordCache::put(std::string_view word, const std::vector<int64_t>& ids, size_t from) {
  if (used_ >= kMaxWords || texts_.size() >= kMaxTextBytes) clear();
  const uint64_t hash = std::hash<std::string_view>{}(word);
  Slot& slot = slots_[find(word, hash)];
  slot = {hash, static_cast<uint32_t>(texts_.size()), static_cast<uint32_t>(ids_.size()),
          static_cast<uint32_t>(word.size()), static_cast<uint32_t>(ids.size() - from)};
  texts_ += word;
  for (size_t i = from; i < ids.size(); ++i) ids_.push_back(static_cast<int32_t>(ids[i]));
  ++used_;
}

void WordCache::clear() {
  slots_.assign(kNumSlots, Slot{});
  texts_.clear();
  ids_.clear();
  used_ = 0;
}

}  // namespace s2s::hf_plugin
