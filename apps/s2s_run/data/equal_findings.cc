#include "s2s_run/data/equal_findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "s2s/foreign_text.h"

namespace s2s::run {
namespace {

/// The end of the first ":LINE" of a message, or 0.
size_t end_of_place(const std::string& message) {
  const auto is_digit = [&](size_t i) {
    return i < message.size() && std::isdigit(static_cast<unsigned char>(message[i])) != 0;
  };
  for (size_t at = message.find(':'); at != std::string::npos; at = message.find(':', at + 1)) {
    size_t end = at + 1;
    while (is_digit(end)) ++end;
    if (end > at + 1) return end;
  }
  return 0;
}

std::string without_place(const std::string& message, const std::string& place) {
  if (!place.empty()) {
    const size_t at = message.find(place);
    return at == std::string::npos ? message : message.substr(at + place.size());
  }
  return message.substr(end_of_place(message));
}

std::string more(int64_t count) {
  return count > 1 ? fmt::format(" (and {} more like it)", count - 1) : "";
}

}  // namespace

void EqualFindings::add(const Error& error, const std::string& place) {
  ++total_;
  std::string key = error.id() + " " + without_place(error.message(), place);
  const auto same = std::find_if(groups_.begin(), groups_.end(),
                                 [&](const Group& group) { return group.key == key; });
  if (same != groups_.end()) {
    ++same->count;
  } else if (groups_.size() == kMostGroups) {
    ++num_others_;
  } else {
    groups_.push_back({std::move(key), error});
  }
}

std::string EqualFindings::rest() const {
  std::string text;
  if (num_others_ > 0) text = fmt::format("{} other findings", num_others_);
  if (total_ < kEnough) return text;
  return text + fmt::format("{}{} findings in all; what follows was not read",
                            text.empty() ? "" : "; ", total_);
}

std::vector<std::string> EqualFindings::lines() const {
  std::vector<std::string> lines;
  for (const Group& group : groups_) {
    lines.push_back(printable(std::string(group.first.what()) + more(group.count)));
  }
  if (const std::string text = rest(); !text.empty()) lines.push_back(text);
  return lines;
}

nlohmann::ordered_json EqualFindings::json() const {
  nlohmann::ordered_json out = nlohmann::ordered_json::array();
  for (const Group& group : groups_) {
    out.push_back({{"finding", group.first.what()}, {"count", group.count}});
  }
  if (const std::string text = rest(); !text.empty()) {
    out.push_back({{"finding", text}, {"count", num_others_}});
  }
  return out;
}

void EqualFindings::throw_if_any() const {
  Findings findings;
  for (const Group& group : groups_) {
    findings.add(Error(group.first.exit_code(), group.first.id(),
                       group.first.message() + more(group.count)));
  }
  if (const std::string text = rest(); !text.empty()) {
    findings.add(Error(groups_.front().first.exit_code(), groups_.front().first.id(), text));
  }
  findings.throw_if_any();
}

}  // namespace s2s::run
