#include "provenance/git_state.h"

#include <c10/util/hash.h>
#include <sys/stat.h>

#include <cstring>
#include <optional>
#include <sstream>
#include <string_view>
#include <system_error>

#include "base/text.h"
#include "s2s/foreign_text.h"

namespace s2s::run {
namespace {

namespace fs = std::filesystem;

constexpr size_t kIndexBytes = size_t{256} << 20;
constexpr size_t kFileBytes = size_t{64} << 20;
constexpr size_t kFixedBytes = 62;  // of an entry of the index, before its name
constexpr size_t kLineBytes = 4096;
constexpr size_t kPackedBytes = size_t{16} << 20;
constexpr int kMaxReferences = 5;  // the limit of git

std::optional<std::string> first_line(const fs::path& file) {
  try {
    const std::string text = read_small_file(file.string(), kLineBytes);
    return text.substr(0, text.find_first_of("\r\n"));
  } catch (const std::system_error&) {
    return std::nullopt;
  }
}

/// Returns the text after `key` in the first line of a file.
std::optional<std::string> value_of(const fs::path& file, const std::string& key) {
  const auto line = first_line(file);
  if (!line || !line->starts_with(key)) return std::nullopt;
  return line->substr(key.size());
}

struct WorkTree {
  fs::path root;
  fs::path git;  // contains HEAD: `.git`, or the folder that a file named `.git` points to
};

/// The work tree that contains `folder`.
std::optional<WorkTree> find_work_tree(const fs::path& folder) {
  std::error_code ignored;
  for (fs::path at = folder; !at.empty(); at = at.parent_path()) {
    const fs::path git = at / ".git";
    if (fs::is_directory(git, ignored)) return WorkTree{at, git};
    if (const auto other = value_of(git, "gitdir: ")) return WorkTree{at, at / *other};
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

/// Reads numbers of the index, which are big endian.
uint32_t number_at(std::string_view bytes, size_t at) {
  uint32_t value = 0;
  for (size_t i = 0; i < 4; ++i) value = value << 8U | static_cast<unsigned char>(bytes.at(at + i));
  return value;
}

/// A tracked file as git saw it last.
struct Entry {
  std::string name;
  uint32_t mode = 0, size = 0, mtime_s = 0, mtime_ns = 0;
  std::string sha1;  // 40 hexadecimal digits
  bool is_skipped = false;
};

/// Reads the entry at `at`, and moves `at` to the next one. Errors: std::out_of_range.
Entry entry_at(std::string_view bytes, size_t& at) {
  Entry entry;
  entry.mtime_s = number_at(bytes, at + 8);
  entry.mtime_ns = number_at(bytes, at + 12);
  entry.mode = number_at(bytes, at + 24);
  entry.size = number_at(bytes, at + 36);
  entry.sha1 = hexadecimal(bytes.substr(at + 40, 20));
  const uint32_t flags = number_at(bytes, at + 58) & 0xffffU;
  const bool is_extended = (flags & 0x4000U) != 0;
  const uint32_t more = is_extended ? number_at(bytes, at + 60) & 0xffffU : 0;
  entry.is_skipped = (flags & 0x8000U) != 0 || (more & 0x4000U) != 0;
  const size_t name = at + kFixedBytes + (is_extended ? 2 : 0);
  const size_t end = bytes.find('\0', name);
  if (end == std::string_view::npos) throw std::out_of_range("a name has no end");
  entry.name = bytes.substr(name, end - name);
  at += (end - at) / 8 * 8 + 8;  // padded to a multiple of 8 bytes, with at least one 0
  return entry;
}

/// An index of a stranger could name files anywhere.
bool is_inside(const fs::path& root, const std::string& name) {
  std::error_code problem;
  const fs::path path = fs::weakly_canonical(root / name, problem);
  const fs::path relative = problem ? fs::path("..") : path.lexically_relative(root);
  return !fs::path(name).is_absolute() && !relative.empty() && *relative.begin() != "..";
}

enum class Change { kNone, kModified, kMissing };

/// Compares the times and the size first, as git does, and the content only where they differ.
Change change_of(const fs::path& root, const Entry& entry) {
  constexpr uint32_t kKind = 0170000, kFile = 0100000;
  if (entry.is_skipped || (entry.mode & kKind) != kFile) return Change::kNone;
  const std::string path = (root / entry.name).string();
  struct stat facts {};
  if (lstat(path.c_str(), &facts) != 0) return Change::kMissing;
  if (!S_ISREG(facts.st_mode) || static_cast<uint32_t>(facts.st_size) != entry.size) {
    return Change::kModified;
  }
  if (static_cast<uint32_t>(facts.st_mtim.tv_sec) == entry.mtime_s &&
      static_cast<uint32_t>(facts.st_mtim.tv_nsec) == entry.mtime_ns) {
    return Change::kNone;
  }
  if (entry.size > kFileBytes) return Change::kModified;  // probably: too large to read
  const std::string content = read_small_file(path, kFileBytes);
  const std::string blob = "blob " + std::to_string(content.size()) + '\0' + content;
  return c10::sha1(blob).str() == entry.sha1 ? Change::kNone : Change::kModified;
}

/// Whether the tree that the index caches for its root is missing or no longer valid: something
/// was added since the last commit.
bool may_have_staged(std::string_view bytes, size_t at) {
  constexpr size_t kHash = 20;
  while (at + 8 + kHash <= bytes.size()) {
    const std::string_view name = bytes.substr(at, 4);
    const size_t size = number_at(bytes, at + 4);
    // The root: an empty name, 0, and the number of its entries, -1 for a tree that is not valid.
    if (name == "TREE") return bytes.substr(at + 8, 2) == std::string_view("\0-", 2);
    at += 8 + size;
  }
  return true;
}

void read_index(const fs::path& git, GitState& state) {
  const std::string text = read_small_file((git / "index").string(), kIndexBytes);
  const std::string_view bytes = text;
  const uint32_t version = number_at(bytes, 4);
  if (bytes.substr(0, 4) != "DIRC" || version < 2 || version > 3 || state.commit.size() == 64) {
    state.not_read = "git's index has version " + std::to_string(version) + " or SHA-256";
    return;
  }
  size_t at = 12;
  for (uint32_t left = number_at(bytes, 8); left > 0; --left) {
    const Entry entry = entry_at(bytes, at);
    const Change change = change_of(state.root, entry);
    if (change == Change::kNone || !is_inside(state.root, entry.name)) continue;
    if (change == Change::kModified) state.modified.push_back(entry.name);
    if (change == Change::kMissing) state.missing.push_back(entry.name);
  }
  state.may_have_staged = may_have_staged(bytes, at);
}

}  // namespace

GitState read_git_state(const fs::path& folder) {
  GitState state;
  const auto tree = find_work_tree(folder);
  if (!tree) return state;
  state.root = fs::weakly_canonical(tree->root).string();
  std::optional<std::string> line = first_line(tree->git / "HEAD");
  constexpr std::string_view kReference = "ref: ", kHeads = "refs/heads/";
  if (line && line->starts_with(kReference)) {
    const std::string name = line->substr(kReference.size());
    if (name.starts_with(kHeads)) state.branch = name.substr(kHeads.size());
  }
  for (int i = 0; i < kMaxReferences && line && line->starts_with(kReference); ++i) {
    line = reference(tree->git, line->substr(kReference.size()));
  }
  state.commit = line && is_commit(*line) ? *line : "";
  try {
    read_index(tree->git, state);
  } catch (const std::exception& error) {
    state.not_read = error.what();
  }
  return state;
}

}  // namespace s2s::run
