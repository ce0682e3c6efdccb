#include "config/distrusted_files.h"

#include <algorithm>
#include <mutex>
#include <set>
#include <string_view>

namespace s2s {
namespace {

struct Files {
  std::mutex mutex;
  std::set<std::string> names;  // guarded by mutex
};

Files& distrusted() {
  static Files the_process;
  return the_process;
}

/// True for a "${" that refers to a value of the configuration, not to the environment.
bool refers_to_values(std::string_view text) {
  for (size_t at = text.find("${"); at != std::string_view::npos; at = text.find("${", at + 2)) {
    if (!text.substr(at).starts_with("${oc.env:")) return true;
  }
  return false;
}

/// A reference to a variable can also contain a default.
bool is_of(const Origin& origin, const std::string& file) {
  if (origin.source == file) return true;
  if (origin.source.starts_with("command line: ")) return refers_to_values(origin.source);
  return origin.source.starts_with("environment ") &&
         (origin.via.find(file) != std::string::npos || refers_to_values(origin.via));
}

}  // namespace

void distrust_file(const std::string& file) {
  const std::lock_guard lock(distrusted().mutex);
  distrusted().names.insert(file);
}

bool is_distrusted(const Origin& origin) {
  const std::lock_guard lock(distrusted().mutex);
  const auto& files = distrusted().names;
  return std::any_of(files.begin(), files.end(),
                     [&origin](const std::string& file) { return is_of(origin, file); });
}

}  // namespace s2s
