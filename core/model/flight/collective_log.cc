#include "flight/collective_log.h"

#include <fmt/format.h>

namespace s2s {

std::string to_line(const CollectiveRecord& record) {
  std::string line = fmt::format("{} {} {}", record.group, record.sequence, to_string(record.kind));
  const bool reduces =
      record.kind == CollectiveKind::kAllReduce || record.kind == CollectiveKind::kReduceScatter;
  if (reduces) line += fmt::format(" {}", to_string(record.reduction));
  if (record.peer >= 0) line += fmt::format(" {}", record.peer);
  if (record.kind != CollectiveKind::kBarrier) {
    line += fmt::format(" {} {}", record.num_bytes, c10::toString(record.dtype));
  }
  return record.name.empty() ? line : line + " '" + record.name + "'";
}

void CollectiveLog::started(const CollectiveRecord& record, const GroupPlace&) {
  const std::lock_guard lock(mutex_);
  if (entries_.size() == capacity_) entries_.pop_front();
  entries_.push_back({record, State::kStarted});
  num_bytes_[static_cast<size_t>(record.kind)] += record.num_bytes;
}

void CollectiveLog::finished(const CollectiveRecord& record, bool failed) {
  const std::lock_guard lock(mutex_);
  for (auto entry = entries_.rbegin(); entry != entries_.rend(); ++entry) {
    if (entry->record.sequence != record.sequence || entry->record.group != record.group) continue;
    entry->state = failed ? State::kFailed : State::kFinished;
    return;
  }
}

std::vector<CollectiveLog::Entry> CollectiveLog::entries() const {
  const std::lock_guard lock(mutex_);
  return {entries_.begin(), entries_.end()};
}

std::vector<std::string> CollectiveLog::lines() const {
  std::vector<std::string> out;
  for (const Entry& entry : entries()) out.push_back(to_line(entry.record));
  return out;
}

int64_t CollectiveLog::num_bytes(CollectiveKind kind) const {
  const std::lock_guard lock(mutex_);
  return num_bytes_[static_cast<size_t>(kind)];
}

}  // namespace s2s
