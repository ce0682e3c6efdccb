#include "launch/rank_messages.h"

#include <algorithm>
#include <cstdio>

#include "comm/rank_list.h"
#include "s2s/foreign_text.h"

namespace s2s::launch {
namespace {

/// How long messages are delayed. Ranks make the same mistake at about the same time, and end soon
/// after reporting it.
constexpr std::chrono::milliseconds kLongestHold{3000};

}  // namespace

bool points_at_rank_0(const std::string& message) {
  return message.find("[comm/rank-0-failed] ") != std::string::npos ||
         message.find("(rank 0 says more)") != std::string::npos;
}

void RankMessages::hold(int rank, std::string message) {
  if (held_.empty()) held_since_ = Clock::now();
  held_.emplace_back(rank, std::move(message));
}

bool RankMessages::has_rank_0() const {
  const auto is_first = [](const auto& held) { return held.first == 0; };
  return std::any_of(held_.begin(), held_.end(), is_first) ||
         std::any_of(shown_.begin(), shown_.end(),
                     [](const Message& message) { return message.ranks.front() == 0; });
}

void RankMessages::show(bool all_ended) {
  const bool is_complete = all_ended || static_cast<int>(held_.size()) == num_ranks_;
  if (held_.empty() || (!is_complete && Clock::now() - held_since_ < kLongestHold)) return;
  std::sort(held_.begin(), held_.end());
  const bool knows_rank_0 = has_rank_0();
  std::vector<Message> messages;
  for (auto& [rank, text] : held_) {
    if (rank != 0 && knows_rank_0 && points_at_rank_0(text)) continue;
    const auto same = std::find_if(messages.begin(), messages.end(),
                                   [&](const Message& one) { return one.text == text; });
    if (same == messages.end()) {
      messages.push_back({{rank}, std::move(text)});
    } else {
      same->ranks.push_back(rank);
    }
  }
  held_.clear();
  for (const Message& message : messages) print(message);
  shown_.insert(shown_.end(), messages.begin(), messages.end());
}

void RankMessages::print(const Message& message) const {
  const bool is_of_all = static_cast<int>(message.ranks.size()) == num_ranks_;
  const bool is_of_one = message.ranks.size() == 1;
  std::string prefix;
  if (!is_of_all && !(is_of_one && message.ranks[0] == 0)) {
    prefix = (is_of_one ? "[rank " : "[ranks ") + rank_list(message.ranks) + "] ";
  }
  const std::string text = printable(message.text);
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string line = text.substr(begin, end - begin);
    std::fprintf(stderr, "%s%s\n", prefix.c_str(), line.c_str());
    begin = end + 1;
  }
}

bool RankMessages::is_one(int rank, bool everybody) const {
  if (shown_.size() != 1) return false;
  const std::vector<int64_t>& ranks = shown_.front().ranks;
  if (everybody && static_cast<int>(ranks.size()) < num_ranks_) return false;
  return ranks.front() == 0 && std::find(ranks.begin(), ranks.end(), rank) != ranks.end();
}

}  // namespace s2s::launch
