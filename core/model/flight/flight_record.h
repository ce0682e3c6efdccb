#pragma once
// A ring buffer with the last collectives of this process, for the diagnosis of a failed run.

#include <algorithm>
#include <chrono>
#include <mutex>
#include <vector>

#include "flight/flight_diagnosis.h"
#include "s2s/kinds/communicator.h"

namespace s2s {

/// Returns "data 3 all_reduce sum 1024 Float 'layers.0'".
std::string to_line(const CollectiveRecord& record);

/// Thread-safe. Each call costs a lock, a clock read and a copy.
class FlightRecord {
 public:
  explicit FlightRecord(size_t capacity = 2000);

  /// Records a collective. Groups of one rank are not recorded, because no rank waits in them.
  void start(const CollectiveRecord& record, const GroupPlace& place);
  void finish(const CollectiveRecord& record, bool failed);
  /// step: 1-based. phase: a string literal, for example "forward". Both count as progress.
  void set_step(int64_t step);
  void set_phase(const char* phase);
  /// The ids of the step's batch, each followed by a newline.
  void set_batch(const std::string& ids);

  /// Copies groups, step, phase, time since the last progress, and the last collectives: the last
  /// ones of all groups, or a number for each group.
  void copy_to(RankFlight& out) const;
  void copy_to(RankFlight& out, size_t num_of_each_group) const;
  /// Time since the last progress, whether a collective is running, and the phase.
  struct Movement {
    std::chrono::duration<double> idle{0};
    bool is_in_collective = false;
    const char* phase = "";
    int64_t step = 0;
    std::chrono::duration<double> in_step{0};  // since the step began
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
    std::string name;    // the name of the communicator
    int64_t number = 0;  // index among groups with the same name and ranks
    std::vector<int64_t> ranks;
    int64_t num_started = 0;
    int64_t num_finished = 0;
  };

  size_t group_of(const CollectiveRecord& record, const GroupPlace& place);
  /// Returns the collective with this start number. Only the last ones are stored.
  const Entry& entry(size_t number) const { return entries_[number % entries_.size()]; }
  size_t oldest() const { return num_entries_ - std::min(num_entries_, entries_.size()); }
  FlownCollective flown(const Entry& entry) const;
  void copy_state(RankFlight& out) const;

  mutable std::mutex mutex_;
  std::vector<Entry> entries_;  // ring buffer
  size_t num_entries_ = 0;      // number of collectives started so far
  std::vector<Group> groups_;
  int64_t num_open_ = 0;
  int64_t step_ = 0;
  const char* phase_ = "";
  Clock::time_point moved_ = Clock::now();
  Clock::time_point step_began_ = Clock::now();
  std::string batch_;
};

}  // namespace s2s
