#include <fmt/format.h>

#include "config/config_errors.h"
#include "config/config_notes.h"
#include "config/config_tree.h"
#include "s2s/foreign_class.h"

namespace s2s {
void ConfigTranslation::take(ForeignKeys rows) {
  for (const ForeignKey& row : rows) {
    const std::string key(row.key);
    const Config* const found = config.find_path(key);
    if (found == nullptr || !is_about(row, *found)) continue;
    if (row.use == KeyUse::kRead) move(key, row.says);
    if (row.use != KeyUse::kNoEffect) continue;
    if (*row.says != '\0') note_no_effect(key, *found, row.says);
    erase(key);
  }
}

void ConfigTranslation::move(const std::string& theirs, const std::string& ours) {
  const Config* const found = config.find_path(theirs);
  if (found == nullptr) return;
  const Config value = *found;
  erase(theirs);
  if (config.find_path(ours) != nullptr) {
    return note_no_effect(theirs, value, ours + " is written");
  }
  set(ours, value);
  note_read(theirs, value, ours);
}

void ConfigTranslation::set(const std::string& path, const Config& value) {
  at_path(config, path, value.origin()) = value;
}

void ConfigTranslation::erase(const std::string& path) {
  if (config.find_path(path) == nullptr) return;
  const size_t dot = path.rfind('.');
  if (dot == std::string::npos) return config.erase(path);
  at_path(config, path.substr(0, dot)).erase(path.substr(dot + 1));
}

void ConfigTranslation::note_read(const std::string& theirs, const Config& value,
                                  const std::string& ours) {
  notes.others.push_back(config_place(theirs, value) + ": read as " + ours);
}

void ConfigTranslation::note_no_effect(const std::string& theirs, const Config& value,
                                       const std::string& why) {
  notes.without_effect.push_back(config_place(theirs, value) + ": " + why);
}

void throw_no_export(const std::string& what, const std::string& expected) {
  throw Error(ExitCode::kConfig, "checkpoint/export",
              fmt::format("{}\n  expected: {}", what, expected));
}

}  // namespace s2s
