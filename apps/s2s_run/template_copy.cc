#include "s2s_run/template_copy.h"

#include "base/atomic_file.h"
#include "plugin/search_path.h"
#include "s2s/foreign_text.h"

namespace s2s::run {

std::filesystem::path install_prefix() {
  return std::filesystem::path(this_executable()).parent_path().parent_path();
}

std::filesystem::path shared_files() { return install_prefix() / "share/s2s"; }

std::string replaced(std::string text, const std::string& mark, const std::string& value) {
  for (size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at)) {
    text.replace(at, mark.size(), value);
    at += value.size();
  }
  return text;
}

void copy_template(const std::filesystem::path& from, const std::filesystem::path& to,
                   const std::vector<TemplateMark>& marks) {
  for (const auto& entry : std::filesystem::recursive_directory_iterator(from)) {
    if (!entry.is_regular_file()) continue;
    const std::filesystem::path file = to / std::filesystem::relative(entry.path(), from);
    make_folders(file.parent_path().string());
    std::string text = read_small_file(entry.path().string());
    for (const auto& [mark, value] : marks) text = replaced(text, mark, value);
    write_file_atomically(file.string(), text);
  }
}

}  // namespace s2s::run
