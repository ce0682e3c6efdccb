#pragma once
// Cuts that were left out, up to a limit (`skip_bad`).

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
  /// Counts cuts that were not counted before; `tell` hears of each.
  /// Errors: with a limit of 0 the first cut's own; [data/too-many-bad] beyond the limit.
  void add(const std::vector<BadCut>& more,
           const std::function<void(const std::string&)>& tell = {});
  /// "[id] message" of each, in the order they were met.
  std::vector<std::string> lines() const;

  /// Cut id and line of each.
  using Listed = std::vector<std::pair<std::string, std::string>>;
  const Listed& listed() const { return listed_; }
  void restore(Listed listed) { listed_ = std::move(listed); }

 private:
  bool knows(const std::string& id) const;

  int64_t limit_;
  std::string where_;
  Listed listed_;
};

/// Cuts that the files of a set do not give, met while batches are planned. Thread-safe.
class UnreadCuts {
 public:
  UnreadCuts(int64_t limit, std::string where);

  /// Keeps each once. Errors: [data/too-many-bad] beyond the limit, so that planning ends even when
  /// no cut is good.
  void hear(const Error& error);
  /// What was heard since the last call.
  std::vector<BadCut> take();

 private:
  int64_t limit_;
  std::string where_;
  std::mutex mutex_;
  std::vector<BadCut> heard_;  // guarded by mutex_
};

}  // namespace s2s::data
