#include "s2s/error.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace s2s {

Error::Error(ExitCode exit_code, std::string id, std::string message)
    : std::runtime_error("[" + id + "] " + message),
      exit_code_(exit_code),
      id_(std::move(id)),
      message_(std::move(message)) {}

Error::~Error() = default;

void Findings::add(Error error) {
  const bool is_known = std::any_of(errors_.begin(), errors_.end(), [&](const Error& known) {
    return std::string_view(known.what()) == error.what();
  });
  if (!is_known) errors_.push_back(std::move(error));
}

void Findings::throw_if_any() const {
  if (errors_.empty()) return;
  if (errors_.size() == 1) throw errors_.front();
  std::string all = std::to_string(errors_.size()) + " findings";
  for (const Error& error : errors_) all += std::string("\n  ") + error.what();
  throw Error(errors_.front().exit_code(), errors_.front().id(), all);
}

namespace {

size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t substituted = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substituted});
    }
  }
  return row[b.size()];
}

}  // namespace

std::string nearest_name(std::string_view name, const std::vector<std::string>& candidates) {
  std::string best;
  // The intended name has at least one letter in common with the written one.
  size_t best_distance = std::min(std::max<size_t>(2, name.size() / 3) + 1, name.size());
  for (const std::string& candidate : candidates) {
    const size_t distance = edit_distance(name, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

void assertion_failed(const char* condition, const char* why, const char* file, int line) {
  throw std::logic_error(std::string(file) + ":" + std::to_string(line) +
                         ": assertion failed: " + condition + " (" + why + ")");
}

}  // namespace s2s
