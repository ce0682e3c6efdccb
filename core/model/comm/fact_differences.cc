#include "comm/fact_differences.h"

#include <fmt/format.h>

#include <map>

#include "comm/rank_list.h"

namespace s2s {
namespace {

constexpr size_t kMaxLines = 20;

/// A fact's value for each rank.
using Values = std::vector<std::string>;

/// "1 (ranks 0, 2), 2 (rank 1)", the value of the lowest rank first.
std::string values_text(const Values& values) {
  std::vector<std::string> distinct;
  std::map<std::string, std::vector<int64_t>> ranks_of;
  for (size_t rank = 0; rank < values.size(); ++rank) {
    std::vector<int64_t>& ranks = ranks_of[values[rank]];
    if (ranks.empty()) distinct.push_back(values[rank]);
    ranks.push_back(static_cast<int64_t>(rank));
  }
  std::string text;
  for (const std::string& value : distinct) {
    const std::vector<int64_t>& ranks = ranks_of[value];
    text += fmt::format("{}{} (rank{} {})", text.empty() ? "" : ", ", value,
                        ranks.size() == 1 ? "" : "s", rank_list(ranks));
  }
  return text;
}

bool agree(const Values& values) {
  for (const std::string& value : values) {
    if (value != values.front()) return false;
  }
  return true;
}

}  // namespace

std::vector<std::string> fact_differences(const std::vector<std::vector<AgreedFact>>& facts) {
  std::vector<std::string> names;
  std::map<std::string, Values> values;
  for (size_t rank = 0; rank < facts.size(); ++rank) {
    for (const AgreedFact& fact : facts[rank]) {
      Values& of_ranks = values[fact.name];
      if (of_ranks.empty()) {
        names.push_back(fact.name);
        of_ranks.resize(facts.size(), "not there");
      }
      of_ranks[rank] = fact.value;
    }
  }
  std::vector<std::string> lines;
  for (const std::string& name : names) {
    if (!agree(values[name])) lines.push_back(name + ": " + values_text(values[name]));
  }
  if (lines.size() > kMaxLines) {
    const size_t left_out = lines.size() - kMaxLines;
    lines.resize(kMaxLines);
    lines.push_back(fmt::format("... and {} more", left_out));
  }
  return lines;
}

}  // namespace s2s
