#pragma once
// Counts and lists cuts that were left out, up to a limit (`skip_bad`).

#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "loader/row_loader.h"

namespace s2s::data {

class BadCuts {
 public:
  /// `where` names the options and the data rank in messages.
  BadCuts(int64_t limit, std::string where);

  bool are_allowed() const { return limit_ > 0; }
  /// Counts the cuts that were not counted before, and calls `tell` with a line for each.
  /// Errors: the first cut's own error if the limit is 0; [data/too-many-bad] beyond the limit.
  void add(const std::vector<BadCut>& more,
           const std::function<void(const std::string&)>& tell = {});
  /// "[id] message" of each cut, in the order in which they were found.
  std::vector<std::string> lines() const;

  /// Id and line of each cut.
  using Listed = std::vector<std::pair<std::string, std::string>>;
  const Listed& listed() const { return listed_; }
  void restore(Listed listed) { listed_ = std::move(listed); }

 private:
  bool knows(const std::string& id) const;

  int64_t limit_;
  std::string where_;
  Listed listed_;
};

/// Collects cuts that cannot be read from a set's files while batches are planned. Thread-safe.
class UnreadCuts {
 public:
  UnreadCuts(int64_t limit, std::string where);

  /// Adds the cut once.
  /// Errors: [data/too-many-bad] beyond the limit, so that planning ends even if no cut is good.
  void add(const Error& error);
  /// Returns what was added since the last call.
  std::vector<BadCut> take();

 private:
  int64_t limit_;
  std::string where_;
  std::mutex mutex_;
  std::vector<BadCut> cuts_;  // guarded by mutex_
};

}  // namespace s2s::data
