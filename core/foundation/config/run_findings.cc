#include "config/run_findings.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/text.h"
#include "config/config_errors.h"

namespace s2s {
namespace {

/// Shorter lists may be repeated.
constexpr size_t kLongList = 120;

/// The message without its list of known keys, if `seen` contains the list.
std::string with_list_once(const std::string& message, std::set<std::string>& seen) {
  constexpr std::string_view kMark = "; known: ";
  const size_t at = message.rfind(kMark);
  if (at == std::string::npos || message.size() - at < kLongList) return message;
  if (seen.insert(message.substr(at)).second) return message;
  return message.substr(0, at) + "; the known keys are listed above";
}

/// Removes the key at a dotted path, if it exists.
void erase(Config& config, const std::string& path) {
  const size_t dot = path.rfind('.');
  if (dot == std::string::npos) return config.erase(path);
  const Config* const parent = std::as_const(config).find_path(path.substr(0, dot));
  if (parent != nullptr) const_cast<Config*>(parent)->erase(path.substr(dot + 1));
}

}  // namespace

void sort_findings(Findings& findings) {
  std::vector<Error> errors = findings.errors();
  std::stable_partition(errors.begin(), errors.end(),
                        [](const Error& error) { return error.exit_code() == ExitCode::kConfig; });
  Findings sorted;
  std::set<std::string> seen, lists;
  for (const Error& error : errors) {
    if (!seen.insert(error.what()).second) continue;
    const std::string message = with_list_once(error.message(), lists);
    sorted.add(message == error.message() ? error : Error(error.exit_code(), error.id(), message));
  }
  findings = std::move(sorted);
}

bool SwitchedOff::take(const std::string& path, const std::string& key, const Config& value,
                       ConfigNotes& notes) {
  for (const char* const name : {"enabled", "enable"}) {
    const Config* const is_on = value.is_map() ? value.find(name) : nullptr;
    if (is_on == nullptr || !is_on->is_scalar() || lower(is_on->text()) != "false") continue;
    const std::string full = path.empty() ? key : path + "." + key;
    if (contains(paths_, full)) return true;
    paths_.push_back(full);
    notes.without_effect.push_back(config_place(full, value) + ": it is switched off");
    return true;
  }
  return false;
}

void SwitchedOff::erase_from(Config& config) const {
  constexpr std::string_view kSets = "data.validation_ds.datasets.";
  for (const std::string& path : paths_) {
    erase(config, path);
    const size_t end = path.starts_with(kSets) ? path.find('.', kSets.size()) : std::string::npos;
    if (end != std::string::npos) erase(config, "data.validation_ds" + path.substr(end));
  }
}

}  // namespace s2s
