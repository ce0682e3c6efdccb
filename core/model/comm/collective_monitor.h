#pragma once
// An observer that also hears of groups, says how long collectives may take, and is asked what it
// knows when one fails.

#include <chrono>
#include <string>

#include "s2s/communicator.h"

namespace s2s {

class CollectiveMonitor : public CollectiveObserver {
 public:
  /// Instead of `started`. place: of the record's group.
  virtual void started_in(const CollectiveRecord& record, const GroupPlace& place) = 0;
  /// How long a collective that starts now may take. usual: what was true of the one before.
  virtual std::chrono::milliseconds time_limit(std::chrono::milliseconds usual) const {
    return usual;
  }
  /// `wait` begins.
  virtual void waiting(const CollectiveRecord&) {}
  /// The collective has failed on this rank with `reason`, the back end's text. Returns what is
  /// known about the cause: lines that begin with "\n  ", or "". May take a few seconds.
  virtual std::string explain_failure(const CollectiveRecord& record, const GroupPlace& place,
                                      const std::string& reason) = 0;
};

}  // namespace s2s
