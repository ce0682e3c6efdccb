#include "run/manifest_git.h"

#include <algorithm>
#include <optional>
#include <sstream>
#include <system_error>

#include "s2s/foreign_text.h"

namespace s2s::run {
namespace {

namespace fs = std::filesystem;

constexpr size_t kLineBytes = 4096;
constexpr size_t kPackedBytes = size_t{16} << 20;
constexpr int kMaxReferences = 5;  // as git follows

std::optional<std::string> first_line(const fs::path& file) {
  try {
    const std::string text = read_small_file(file.string(), kLineBytes);
    return text.substr(0, text.find_first_of("\r\n"));
  } catch (const std::system_error&) {
    return std::nullopt;
  }
}

/// What follows `key` in a file's first line.
std::optional<std::string> value_of(const fs::path& file, const std::string& key) {
  const auto line = first_line(file);
  if (!line || !line->starts_with(key)) return std::nullopt;
  return line->substr(key.size());
}

/// The folder with HEAD: `.git`, or the one that a file of this name names.
std::optional<fs::path> find_git_folder(const fs::path& folder) {
  std::error_code ignored;
  for (fs::path at = folder; !at.empty(); at = at.parent_path()) {
    const fs::path git = at / ".git";
    if (fs::is_directory(git, ignored)) return git;
    if (const auto other = value_of(git, "gitdir: ")) return at / *other;
    if (at == at.parent_path()) break;
  }
  return std::nullopt;
}

bool is_commit(const std::string& text) {
  return (text.size() == 40 || text.size() == 64) &&
         text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

std::optional<std::string> packed_reference(const fs::path& git, const std::string& name) {
  try {
    std::istringstream lines(read_small_file((git / "packed-refs").string(), kPackedBytes));
    for (std::string line; std::getline(lines, line);) {
      const size_t blank = line.find(' ');
      if (blank != std::string::npos && line.substr(blank + 1) == name)
        return line.substr(0, blank);
    }
  } catch (const std::system_error&) {
  }
  return std::nullopt;
}

std::optional<std::string> reference(const fs::path& git, const std::string& name) {
  if (!name.starts_with("refs/") || name.find("..") != std::string::npos) return std::nullopt;
  const fs::path shared = git / first_line(git / "commondir").value_or(".");
  for (const fs::path& folder : {git, shared}) {
    if (const auto line = first_line(folder / name)) return line;
  }
  return packed_reference(shared, name);
}

}  // namespace

std::string git_commit_of(const fs::path& folder) {
  const auto git = find_git_folder(folder);
  if (!git) return "";
  std::optional<std::string> line = first_line(*git / "HEAD");
  for (int i = 0; i < kMaxReferences && line && line->starts_with("ref: "); ++i) {
    line = reference(*git, line->substr(5));
  }
  return line && is_commit(*line) ? *line : "";
}

}  // namespace s2s::run
