#include "files/byte_cache.h"

namespace s2s::files {

ByteCache::Bytes ByteCache::get(const std::string& key, const std::function<std::string()>& make) {
  std::promise<Bytes> promise;
  Entries::iterator entry;
  {
    std::unique_lock lock(mutex_);
    if (const auto found = by_key_.find(key); found != by_key_.end()) {
      entries_.splice(entries_.begin(), entries_, found->second);
      const std::shared_future<Bytes> bytes = found->second->bytes;
      lock.unlock();
      return bytes.get();
    }
    entry = entries_.insert(entries_.begin(), Entry{key, promise.get_future().share()});
    by_key_[key] = entry;
  }
  try {
    auto bytes = std::make_shared<const std::string>(make());
    promise.set_value(bytes);
    account(entry, static_cast<int64_t>(bytes->capacity()));
    return bytes;
  } catch (...) {
    promise.set_exception(std::current_exception());
    const std::lock_guard lock(mutex_);
    by_key_.erase(key);
    entries_.erase(entry);
    throw;
  }
}

void ByteCache::account(Entries::iterator entry, int64_t num_bytes) {
  const std::lock_guard lock(mutex_);
  constexpr int64_t kEntryBytes = 256;  // also counts for empty files
  entry->num_bytes = num_bytes + kEntryBytes;
  held_bytes_ += entry->num_bytes;
  auto candidate = entries_.end();
  while (held_bytes_ > max_bytes_ && candidate != entries_.begin()) {
    --candidate;
    if (candidate->num_bytes == 0 || candidate == entry) continue;
    held_bytes_ -= candidate->num_bytes;
    by_key_.erase(candidate->key);
    candidate = entries_.erase(candidate);
  }
}

}  // namespace s2s::files
