#include "config/unknown_keys.h"

#include <algorithm>

namespace s2s {
namespace {

/// A longer list does not help (`name`, `path`).
constexpr size_t kMaxPlaces = 3;

std::string last_part(const std::string& path) { return path.substr(path.rfind('.') + 1); }

void add_places(const Config& node, const std::string& path, const std::string& key,
                std::vector<std::string>& places) {
  for (const auto& [name, child] : node.entries()) {
    const std::string below = path.empty() ? name : path + "." + name;
    if (name == key) places.push_back(below);
    add_places(child, below, key, places);
  }
}

}  // namespace

std::string advice_on(const KeyAdvice& advice, const std::string& path, const std::string& key,
                      const Config& value) {
  const auto find = [&](const std::string& block, const std::string& wanted) -> std::string {
    const auto rows = advice.find(block);
    if (rows == advice.end()) return "";
    for (const ForeignKey& row : rows->second) {
      if (row.key != wanted || row.use == KeyUse::kNoEffect || !is_about(row, value)) continue;
      return (row.use == KeyUse::kRead ? "write " : "") + std::string(row.says);
    }
    return "";
  };
  if (path.empty()) return find("", key);
  std::string text = find(path, key);
  if (text.empty()) text = find("", path + "." + key);
  // Keys of the top of DeepSpeed's files, written under `trainer`.
  return text.empty() && path == "trainer" ? find("", key) : text;
}

void UnknownKeys::note(const Findings& findings, std::string path) {
  unknown_.push_back({findings.errors().size(), std::move(path)});
}

bool UnknownKeys::contains(const std::string& path) const {
  return std::any_of(unknown_.begin(), unknown_.end(),
                     [&](const Unknown& unknown) { return unknown.path == path; });
}

std::vector<std::string> UnknownKeys::places_of(const Config& config,
                                                const std::string& path) const {
  std::vector<std::string> places;
  add_places(config, "", last_part(path), places);
  std::erase_if(places, [&](const std::string& place) { return contains(place); });
  return places;
}

void UnknownKeys::suggest_places(const Config& config, Findings& findings) const {
  if (unknown_.empty()) return;
  Findings with_places;
  for (size_t i = 0; i < findings.errors().size(); ++i) {
    const Error& error = findings.errors()[i];
    const auto unknown = std::find_if(unknown_.begin(), unknown_.end(),
                                      [&](const Unknown& one) { return one.finding == i; });
    std::string message = error.message();
    const size_t known = message.rfind("; known: ");
    const auto places = unknown == unknown_.end() || known == std::string::npos
                            ? std::vector<std::string>()
                            : places_of(config, unknown->path);
    if (places.empty() || places.size() > kMaxPlaces) {
      with_places.add(error);
      continue;
    }
    message.erase(known);
    for (size_t p = 0; p < places.size(); ++p) {
      message += (p == 0 ? "; did you mean '" : " or '") + places[p] + "'";
    }
    with_places.add(Error(error.exit_code(), error.id(), message + "?"));
  }
  findings = std::move(with_places);
}

}  // namespace s2s
