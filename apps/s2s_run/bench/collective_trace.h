#pragma once
// Collectives beside computation on a timeline, in the format of chrome://tracing and Perfetto.

#include <chrono>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "s2s/kinds/communicator.h"

namespace s2s::run {

/// Hears of one thread's collectives. Their spans reach from the call to the end of `wait`; the
/// time inside `wait`, in which nothing is computed, is a span of its own.
class CollectiveTrace : public CollectiveObserver {
 public:
  /// From now on; what was heard before is forgotten.
  void start();
  /// Beside collectives: a part of the step, from now on until the next.
  void begin_part(const char* name);
  void end_parts();

  void started(const CollectiveRecord& record, const GroupPlace& place) override;
  void waiting(const CollectiveRecord& record) override;
  void finished(const CollectiveRecord& record, bool failed) override;

  /// Seconds since `start`: collectives under way, one or several; of it, not computing.
  double under_way_s() const;
  double waited_s() const;
  /// The file's text. rank: names the process.
  std::string to_json(int64_t rank) const;

 private:
  using Clock = std::chrono::steady_clock;
  struct Span {
    std::string name;
    std::string details;
    double begin_s = 0;
    double end_s = 0;
    double wait_s = -1;  // when `wait` was called; -1: it was not
  };
  double now_s() const;

  Clock::time_point origin_ = Clock::now();
  std::map<std::pair<std::string, int64_t>, Span> open_;  // by group and number
  std::vector<Span> collectives_, parts_;
};

}  // namespace s2s::run
