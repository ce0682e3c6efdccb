#include "config/config_notes.h"

#include <fmt/format.h>

namespace s2s {
namespace {

constexpr size_t kMostLines = 2;

/// "trainer.logger" of "trainer.logger (my.yaml:3:1): metrics.jsonl always holds every number".
std::string path_of(const std::string& line) { return line.substr(0, line.find(' ')); }

}  // namespace

std::vector<std::string> ConfigNotes::all() const {
  std::vector<std::string> lines;
  for (const std::string& key : without_effect) lines.push_back("ignored: " + key);
  lines.insert(lines.end(), others.begin(), others.end());
  return lines;
}

std::vector<std::string> ConfigNotes::brief() const {
  if (without_effect.size() <= kMostLines) return all();
  std::string paths;
  for (const std::string& key : without_effect) {
    paths += (paths.empty() ? "" : ", ") + path_of(key);
  }
  std::vector<std::string> lines = {
      fmt::format("{} keys are ignored ('s2s-run config check' explains why): {}",
                  without_effect.size(), paths)};
  lines.insert(lines.end(), others.begin(), others.end());
  return lines;
}

}  // namespace s2s
