#pragma once
// Remembers the last collectives of a process: for tests that compare the ranks' sequences, and for
// the record that a failed run leaves.

#include <cstddef>
#include <deque>
#include <mutex>
#include <string>
#include <vector>

#include "s2s/kinds/communicator.h"

namespace s2s {

class CollectiveLog : public CollectiveObserver {
 public:
  enum class State { kStarted, kFinished, kFailed };
  struct Entry {
    CollectiveRecord record;
    State state = State::kStarted;
  };

  /// Keeps the last `capacity` collectives. May be used by several threads.
  explicit CollectiveLog(size_t capacity = 4096) : capacity_(capacity) {}

  void started(const CollectiveRecord& record, const GroupPlace& place) override;
  void finished(const CollectiveRecord& record, bool failed) override;

  /// Oldest first, in the order of their starts.
  std::vector<Entry> entries() const;
  /// A line for each: "data 3 all_reduce sum 1024 Float 'layers.0'".
  std::vector<std::string> lines() const;
  /// Bytes of all collectives of a kind since the beginning.
  int64_t num_bytes(CollectiveKind kind) const;

 private:
  size_t capacity_;
  mutable std::mutex mutex_;
  std::deque<Entry> entries_;
  int64_t num_bytes_[8] = {};
};

std::string to_line(const CollectiveRecord& record);

}  // namespace s2s
