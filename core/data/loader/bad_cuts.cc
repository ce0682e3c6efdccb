#include "loader/bad_cuts.h"

#include <algorithm>
#include <utility>

#include "loader/loader_errors.h"

namespace s2s::data {

BadCuts::BadCuts(int64_t limit, std::string where) : limit_(limit), where_(std::move(where)) {}

bool BadCuts::knows(const std::string& id) const {
  return std::any_of(listed_.begin(), listed_.end(),
                     [&](const auto& item) { return item.first == id; });
}

void BadCuts::add(const std::vector<BadCut>& more,
                  const std::function<void(const std::string&)>& tell) {
  for (const BadCut& bad : more) {
    if (limit_ == 0) throw bad.error();
    if (knows(bad.id)) continue;
    listed_.emplace_back(bad.id, "[" + bad.error_id + "] " + bad.message);
    if (static_cast<int64_t>(listed_.size()) > limit_) {
      throw loader_errors::too_many_bad(where_, limit_, lines());
    }
    if (tell)
      tell(loader_errors::left_out(where_, static_cast<int64_t>(listed_.size()), limit_,
                                   listed_.back().second));
  }
}

std::vector<std::string> BadCuts::lines() const {
  std::vector<std::string> lines;
  for (const auto& [id, line] : listed_) lines.push_back(line);
  return lines;
}

UnreadCuts::UnreadCuts(int64_t limit, std::string where)
    : limit_(limit), where_(std::move(where)) {}

void UnreadCuts::add(const Error& error) {
  const std::lock_guard lock(mutex_);
  BadCut bad = bad_cut(error.message(), error);  // its place identifies it
  const bool known = std::any_of(cuts_.begin(), cuts_.end(),
                                 [&](const BadCut& other) { return other.id == bad.id; });
  if (!known) cuts_.push_back(std::move(bad));
  if (static_cast<int64_t>(cuts_.size()) > limit_) BadCuts(limit_, where_).add(cuts_);
}

std::vector<BadCut> UnreadCuts::take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(cuts_, {});
}

}  // namespace s2s::data
