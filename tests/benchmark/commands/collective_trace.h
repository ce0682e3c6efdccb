#pragma once
// A timeline of collectives and computation, in the format of chrome://tracing and Perfetto.

#include <chrono>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "s2s/kinds/communicator.h"

namespace s2s::run {

/// Observes the collectives of one thread. A span of a collective lasts from its call to the end of
/// `wait`. The time inside `wait`, in which nothing is computed, is a separate span.
class CollectiveTrace : public CollectiveObserver {
 public:
  /// Starts the trace and forgets earlier events.
  void start();
  /// Begins a part of the step, which lasts until the next call.
  void begin_part(const char* name);
  void end_parts();

  void started(const CollectiveRecord& record, const GroupPlace& place) override;
  void waiting(const CollectiveRecord& record) override;
  void finished(const CollectiveRecord& record, bool failed) override;

  /// Seconds since `start` in which at least one collective was running, and seconds spent in
  /// `wait`.
  double under_way_s() const;
  double waited_s() const;
  /// The trace as JSON. rank: the process's name.
  std::string to_json(int64_t rank) const;

 private:
  using Clock = std::chrono::steady_clock;
  struct Span {
    std::string name;
    std::string details;
    double begin_s = 0;
    double end_s = 0;
    double wait_s = -1;  // time of the call of `wait`; -1: not called
  };
  double now_s() const;

  Clock::time_point origin_ = Clock::now();
  std::map<std::pair<std::string, int64_t>, Span> open_;  // by group and sequence
  std::vector<Span> collectives_, parts_;
};

}  // namespace s2s::run
