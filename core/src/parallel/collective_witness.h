#pragma once
// An observer that also hears of groups, and is asked what it knows when a collective fails.

#include <string>

#include "s2s/communicator.h"

namespace s2s {

class CollectiveWitness : public CollectiveObserver {
 public:
  /// Instead of `started`. place: of the record's group.
  virtual void started_in(const CollectiveRecord& record, const GroupPlace& place) = 0;
  /// `wait` begins.
  virtual void waiting(const CollectiveRecord&) {}
  /// The collective has failed on this rank with `reason`, the back end's text. Returns what is
  /// known about the cause: lines that begin with "\n  ", or "". May take a few seconds.
  virtual std::string testimony(const CollectiveRecord& record, const GroupPlace& place,
                                const std::string& reason) = 0;
};

}  // namespace s2s
