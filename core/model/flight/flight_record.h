#pragma once
// The last collectives of this process in a buffer of a fixed size: what a failed run leaves.

#include <algorithm>
#include <chrono>
#include <mutex>
#include <vector>

#include "flight/flight_diagnosis.h"
#include "s2s/kinds/communicator.h"

namespace s2s {

/// "data 3 all_reduce sum 1024 Float 'layers.0'"
std::string to_line(const CollectiveRecord& record);

/// May be used by several threads. Costs a lock, a clock and a copy for each call.
class FlightRecord {
 public:
  explicit FlightRecord(size_t capacity = 2000);

  /// Groups of one rank are left out: nobody waits in them.
  void start(const CollectiveRecord& record, const GroupPlace& place);
  void finish(const CollectiveRecord& record, bool failed);
  /// step: 1-based. phase: a literal, for example "forward". Both count as movement.
  void set_step(int64_t step);
  void set_phase(const char* phase);

  /// Groups, step, phase, time since the last movement, and the last collectives: of all, or of
  /// each group so many.
  void copy_to(RankFlight& out) const;
  void copy_to(RankFlight& out, size_t num_of_each_group) const;
  /// Time since the last movement; whether a collective is under way; the phase.
  struct Movement {
    std::chrono::duration<double> idle{0};
    bool is_in_collective = false;
    const char* phase = "";
    int64_t step = 0;
  };
  Movement movement() const;

 private:
  using Clock = std::chrono::steady_clock;
  enum class State { kStarted, kFinished, kFailed };
  struct Entry {
    CollectiveRecord record;
    size_t group = 0;
    int64_t step = 0;
    const char* phase = "";
    Clock::time_point started, finished;
    State state = State::kStarted;
  };
  struct Group {
    const GroupPlace* key = nullptr;
    std::string name;    // as its communicator has it
    int64_t number = 0;  // among groups of the same name and ranks
    std::vector<int64_t> ranks;
    int64_t num_started = 0;
    int64_t num_finished = 0;
  };

  size_t group_of(const CollectiveRecord& record, const GroupPlace& place);
  /// The number-th that was started; only the last ones are there.
  const Entry& entry(size_t number) const { return entries_[number % entries_.size()]; }
  size_t oldest() const { return num_entries_ - std::min(num_entries_, entries_.size()); }
  FlownCollective flown(const Entry& entry) const;
  void copy_state(RankFlight& out) const;

  mutable std::mutex mutex_;
  std::vector<Entry> entries_;  // a ring
  size_t num_entries_ = 0;      // ever started
  std::vector<Group> groups_;
  int64_t num_open_ = 0;
  int64_t step_ = 0;
  const char* phase_ = "";
  Clock::time_point moved_ = Clock::now();
};

}  // namespace s2s
