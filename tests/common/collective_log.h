#pragma once
// The last collectives of a process: tests compare the ranks' sequences.

#include <cstddef>
#include <deque>
#include <mutex>
#include <string>
#include <vector>

#include "flight/flight_record.h"
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

  void started(const CollectiveRecord& record, const GroupPlace&) override {
    const std::lock_guard lock(mutex_);
    if (entries_.size() == capacity_) entries_.pop_front();
    entries_.push_back({record, State::kStarted});
    num_bytes_[static_cast<size_t>(record.kind)] += record.num_bytes;
  }
  void finished(const CollectiveRecord& record, bool failed) override {
    const std::lock_guard lock(mutex_);
    for (auto entry = entries_.rbegin(); entry != entries_.rend(); ++entry) {
      if (entry->record.sequence != record.sequence || entry->record.group != record.group)
        continue;
      entry->state = failed ? State::kFailed : State::kFinished;
      return;
    }
  }

  /// Oldest first, in the order of their starts.
  std::vector<Entry> entries() const {
    const std::lock_guard lock(mutex_);
    return {entries_.begin(), entries_.end()};
  }
  /// A line for each: "data 3 all_reduce sum 1024 Float 'layers.0'".
  std::vector<std::string> lines() const {
    std::vector<std::string> out;
    for (const Entry& entry : entries()) out.push_back(to_line(entry.record));
    return out;
  }
  /// Bytes of all collectives of a kind since the beginning.
  int64_t num_bytes(CollectiveKind kind) const {
    const std::lock_guard lock(mutex_);
    return num_bytes_[static_cast<size_t>(kind)];
  }

 private:
  size_t capacity_;
  mutable std::mutex mutex_;
  std::deque<Entry> entries_;
  int64_t num_bytes_[8] = {};
};

}  // namespace s2s
