#include "flight/flight_record.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>
namespace s2s {
namespace {

/// The values of steady clocks cannot be compared between machines.
double unix_time_s(std::chrono::steady_clock::time_point time) {
  const auto ago = std::chrono::steady_clock::now() - time;
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration<double>(now - ago).count();
}

/// Returns what must be equal on all ranks, in addition to the name.
std::string details_of(const CollectiveRecord& record, const std::vector<int64_t>& ranks) {
  std::string out;
  if (record.kind == CollectiveKind::kAllReduce || record.kind == CollectiveKind::kReduceScatter) {
    out = fmt::format("{} of ", to_string(record.reduction));
  }
  if (record.num_bytes > 0) {
    out += fmt::format("{} bytes of {}", record.num_bytes, c10::toString(record.dtype));
  }
  if (record.peer < 0) return out;
  const int64_t peer = ranks[static_cast<size_t>(record.peer)];
  const char* const role = record.kind == CollectiveKind::kSend   ? "to"
                           : record.kind == CollectiveKind::kRecv ? "from"
                                                                  : "root";
  return out + fmt::format("{}{} rank {}", out.empty() ? "" : ", ", role, peer);
}

}  // namespace

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

FlightRecord::FlightRecord(size_t capacity) : entries_(capacity) {}

size_t FlightRecord::group_of(const CollectiveRecord& record, const GroupPlace& place) {
  int64_t num_alike = 0;
  for (size_t i = 0; i < groups_.size(); ++i) {
    const Group& group = groups_[i];
    if (group.name != place.name || group.ranks != place.ranks) continue;
    ++num_alike;
    // A new communicator can have the address of a destroyed one.
    if (group.key == &place && (record.sequence > 0 || group.num_started == 0)) return i;
  }
  groups_.push_back({&place, place.name, num_alike, place.ranks, 0, 0});
  return groups_.size() - 1;
}

void FlightRecord::start(const CollectiveRecord& record, const GroupPlace& place) {
  if (place.ranks.size() == 1) return;
  const std::lock_guard lock(mutex_);
  const size_t group = group_of(record, place);
  ++groups_[group].num_started;
  Entry& entry = entries_[num_entries_ % entries_.size()];
  // A device may have more collectives to run than are kept.
  const bool replaces_open = num_entries_ >= entries_.size() && entry.state == State::kStarted;
  if (!replaces_open) ++num_open_;
  ++num_entries_;
  entry.record = record;  // assigning reuses the strings' memory
  entry.group = group;
  entry.step = step_;
  entry.phase = phase_;
  entry.state = State::kStarted;
  moved_ = entry.started = Clock::now();
}

void FlightRecord::finish(const CollectiveRecord& record, bool failed) {
  const std::lock_guard lock(mutex_);
  for (size_t number = num_entries_; number-- > oldest();) {
    Entry& entry = entries_[number % entries_.size()];
    if (entry.state != State::kStarted || entry.record.sequence != record.sequence ||
        entry.record.group != record.group) {
      continue;
    }
    entry.state = failed ? State::kFailed : State::kFinished;
    moved_ = entry.finished = Clock::now();
    ++groups_[entry.group].num_finished;
    --num_open_;
    return;
  }
}

void FlightRecord::set_step(int64_t step) {
  const std::lock_guard lock(mutex_);
  moved_ = Clock::now();
  if (step != step_) {
    step_began_ = moved_;
    batch_.clear();
  }
  step_ = step;
}

void FlightRecord::set_batch(const std::string& ids) {
  const std::lock_guard lock(mutex_);
  batch_ = ids;
  moved_ = Clock::now();
}

void FlightRecord::set_phase(const char* phase) {
  const std::lock_guard lock(mutex_);
  phase_ = phase;
  moved_ = Clock::now();
}

FlightRecord::Movement FlightRecord::movement() const {
  const std::lock_guard lock(mutex_);
  const Clock::time_point now = Clock::now();
  return {now - moved_, num_open_ > 0, phase_, step_, now - step_began_};
}

FlownCollective FlightRecord::flown(const Entry& entry) const {
  FlownCollective out;
  out.group = entry.group;
  out.sequence = entry.record.sequence;
  out.kind = to_string(entry.record.kind);
  out.name = entry.record.name;
  out.details = details_of(entry.record, groups_[entry.group].ranks);
  out.step = entry.step;
  out.phase = entry.phase;
  out.started_s = unix_time_s(entry.started);
  if (entry.state != State::kStarted) out.finished_s = unix_time_s(entry.finished);
  out.failed = entry.state == State::kFailed;
  return out;
}

void FlightRecord::copy_state(RankFlight& out) const {
  out.step = step_;
  out.phase = phase_;
  out.written_s = unix_time_s(Clock::now());
  out.idle_s = std::chrono::duration<double>(Clock::now() - moved_).count();
  out.groups.clear();
  out.collectives.clear();
  for (const Group& group : groups_) {
    const std::string number = group.number == 0 ? "" : "#" + std::to_string(group.number);
    out.groups.push_back({group.name + number, group.ranks, group.num_started, group.num_finished});
  }
}

void FlightRecord::copy_to(RankFlight& out) const {
  const std::lock_guard lock(mutex_);
  copy_state(out);
  std::istringstream ids(batch_);
  out.batch.clear();
  for (std::string id; std::getline(ids, id);) out.batch.push_back(id);
  for (size_t number = oldest(); number < num_entries_; ++number) {
    out.collectives.push_back(flown(entry(number)));
  }
}

void FlightRecord::copy_to(RankFlight& out, size_t num_of_each_group) const {
  const std::lock_guard lock(mutex_);
  copy_state(out);
  std::vector<size_t> num_taken(groups_.size(), 0);
  for (size_t number = num_entries_; number-- > oldest();) {
    const Entry& one = entry(number);
    const bool is_open = one.state == State::kStarted;
    if (is_open || num_taken[one.group]++ < num_of_each_group) {
      out.collectives.push_back(flown(one));
    }
  }
  std::reverse(out.collectives.begin(), out.collectives.end());
}

}  // namespace s2s
