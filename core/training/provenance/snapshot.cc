#include "provenance/snapshot.h"

#include <fmt/format.h>
#include <link.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/atomic_file.h"
#include "base/text.h"
#include "provenance/git_state.h"
#include "provenance/recorded_variables.h"
#include "s2s/error.h"
#include "s2s/foreign_text.h"

namespace s2s::run {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using nlohmann::ordered_json;

constexpr uintmax_t kCopiedBytes = uintmax_t{1} << 20, kAllBytes = uintmax_t{16} << 20;

/// The GNU build id of a loaded object, or "".
std::string build_id_of(const dl_phdr_info& object) {
  for (size_t i = 0; i < object.dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = object.dlpi_phdr[i];
    if (segment.p_type != PT_NOTE) continue;
    const auto* at = reinterpret_cast<const unsigned char*>(object.dlpi_addr + segment.p_vaddr);
    const unsigned char* const end = at + segment.p_memsz;
    while (at + sizeof(ElfW(Nhdr)) <= end) {
      ElfW(Nhdr) note;
      std::memcpy(&note, at, sizeof note);
      const unsigned char* const name = at + sizeof note;
      const unsigned char* const content = name + (note.n_namesz + 3) / 4 * 4;
      const bool is_gnu = note.n_namesz == 4 && std::memcmp(name, "GNU", 4) == 0;
      if (is_gnu && note.n_type == NT_GNU_BUILD_ID) {
        return hexadecimal({reinterpret_cast<const char*>(content), note.n_descsz});
      }
      at = content + (note.n_descsz + 3) / 4 * 4;
    }
  }
  return "";
}

int add_library(dl_phdr_info* object, size_t, void* list) {
  const std::string path = object->dlpi_name;
  if (path.empty() || path.find('/') == std::string::npos) return 0;  // the program, the vDSO
  std::error_code ignored;
  const fs::path file = fs::canonical(path, ignored);
  static_cast<ordered_json*>(list)->push_back(
      {{"library", path}, {"file", file.string()}, {"build_id", build_id_of(*object)}});
  return 0;
}

/// "Debian GNU/Linux 12 (bookworm)", or "".
std::string system_name() {
  constexpr std::string_view kKey = "PRETTY_NAME=\"";
  try {
    const std::string text = read_small_file("/etc/os-release");
    const size_t begin = text.find(kKey);
    if (begin == std::string::npos) return "";
    const size_t first = begin + kKey.size();
    return text.substr(first, text.find('"', first) - first);
  } catch (const std::exception&) {
    return "";
  }
}

std::string packages() {
  ordered_json libraries = ordered_json::array();
  dl_iterate_phdr(add_library, &libraries);
  return ordered_json{{"s2s", S2S_VERSION_TEXT},
                      {"torch", S2S_TORCH_VERSION_TEXT},
                      {"system", system_name()},
                      {"libraries", libraries}}
      .dump(1, ' ', false, json::error_handler_t::replace);
}

std::string environment() {
  return json(recorded_environment()).dump(1, ' ', false, json::error_handler_t::replace);
}

/// Copies the modified files, as far as there is room. Returns the names of the others.
std::vector<std::string> copy_modified(const GitState& git, const fs::path& to) {
  std::vector<std::string> left_out;
  uintmax_t used = 0;
  for (const std::string& name : git.modified) {
    std::error_code problem;
    const fs::path from = fs::path(git.root) / name;
    const uintmax_t size = fs::file_size(from, problem);
    if (problem || !fs::is_regular_file(fs::symlink_status(from)) || size > kCopiedBytes ||
        used + size > kAllBytes) {
      left_out.push_back(name);
      continue;
    }
    make_folders((to / name).parent_path().string());
    fs::copy_file(from, to / name, fs::copy_options::overwrite_existing);
    used += size;
  }
  return left_out;
}

void write_git(const fs::path& snapshot) {
  std::error_code ignored;
  const GitState git = read_git_state(fs::current_path(ignored));
  fs::remove_all(snapshot / "modified");
  if (git.root.empty()) return void(fs::remove(snapshot / "git.json"));
  const std::vector<std::string> left_out = copy_modified(git, snapshot / "modified");
  ordered_json text = {{"root", git.root},
                       {"branch", git.branch},
                       {"commit", git.commit},
                       {"modified", git.modified},
                       {"missing", git.missing},
                       {"not_copied", left_out},
                       {"may_have_staged_changes", git.may_have_staged}};
  if (!git.not_read.empty()) text["not_read"] = git.not_read;
  write_file_atomically((snapshot / "git.json").string(),
                        text.dump(1, ' ', false, json::error_handler_t::replace) + "\n");
}

}  // namespace

void write_snapshot(const RunFolder& folder, const std::vector<std::string>& files,
                    const std::function<void(const std::string&)>& warn) {
  const fs::path snapshot = folder.file("snapshot");
  try {
    make_folders(snapshot.string());
    const fs::path variables = snapshot / "environment.json";
    write_file_atomically(variables.string(), environment() + "\n");
    fs::permissions(variables, fs::perms::owner_read | fs::perms::owner_write);
    write_file_atomically((snapshot / "packages.json").string(), packages() + "\n");
    write_git(snapshot);
  } catch (const std::exception& error) {
    warn(fmt::format("{}: the snapshot of the run is not complete: {}", snapshot.string(),
                     error.what()));
  }
  folder.keep_copies("snapshot/files", files);
}

}  // namespace s2s::run
