#pragma once
// Caches decompressed files and parts of files, up to a number of bytes.

#include <cstdint>
#include <functional>
#include <future>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

namespace s2s::files {

/// Thread-safe. Drops the least recently used bytes first. Callers that still hold dropped bytes
/// keep them.
class ByteCache {
 public:
  using Bytes = std::shared_ptr<const std::string>;

  explicit ByteCache(int64_t max_bytes = int64_t{64} << 20) : max_bytes_(max_bytes) {}

  /// Returns the bytes of `key`. If they are not cached, one thread calls `make`, and other threads
  /// that want the same key wait for it. They all throw what `make` throws.
  Bytes get(const std::string& key, const std::function<std::string()>& make);

 private:
  struct Entry {
    std::string key;
    std::shared_future<Bytes> bytes;
    int64_t num_bytes = 0;  // 0: `make` is running
  };
  using Entries = std::list<Entry>;

  void account(Entries::iterator entry, int64_t num_bytes);

  const int64_t max_bytes_;
  std::mutex mutex_;
  int64_t held_bytes_ = 0;
  Entries entries_;  // the most recently used first
  std::unordered_map<std::string, Entries::iterator> by_key_;
};

}  // namespace s2s::files
