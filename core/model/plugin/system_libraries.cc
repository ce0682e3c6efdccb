#include "plugin/system_libraries.h"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string_view>

#include "base/mapped_file.h"
#include "plugin/elf_file.h"

namespace s2s {

namespace fs = std::filesystem;

namespace {

// Address and thread sanitizers do not support RTLD_DEEPBIND: a library would bypass their malloc.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kMayBindDeep = false;
#else
constexpr bool kMayBindDeep = true;
#endif

/// Returns the text at `offset`, or "" when it does not end within `texts`.
std::string text_at(std::span<const std::byte> texts, uint64_t offset) {
  if (offset >= texts.size()) return "";
  const auto* const begin = reinterpret_cast<const char*>(texts.data()) + offset;
  const size_t room = texts.size() - static_cast<size_t>(offset);
  const size_t size = ::strnlen(begin, room);
  return size == room ? "" : std::string(begin, size);
}

std::vector<std::string> folders_of(std::string_view path) {
  std::vector<std::string> folders;
  while (!path.empty()) {
    const size_t end = std::min(path.find(':'), path.size());
    if (end > 0) folders.emplace_back(path.substr(0, end));
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return folders;
}

std::string with_origin(std::string folder, const std::string& origin) {
  for (const std::string mark : {"$ORIGIN", "${ORIGIN}"}) {
    const size_t at = folder.find(mark);
    if (at != std::string::npos) folder.replace(at, mark.size(), origin);
  }
  return folder;
}

/// The folder of the C library, which also contains the other libraries of the distribution.
fs::path system_folder() {
  Dl_info info;
  if (::dladdr(reinterpret_cast<const void*>(&std::fputs), &info) == 0) return {};
  return fs::path(info.dli_fname).parent_path();
}

bool is_in(const std::vector<std::string>& folders, const std::string& name) {
  std::error_code ignored;
  for (const std::string& folder : folders) {
    if (fs::exists(fs::path(folder) / name, ignored)) return true;
  }
  return false;
}

bool is_open(const std::string& name) {
  void* const handle = ::dlopen(name.c_str(), RTLD_LAZY | RTLD_NOLOAD);
  if (handle != nullptr) ::dlclose(handle);
  return handle != nullptr;
}

DynamicNames names_of(const std::string& file) {
  try {
    const MappedFile mapped(file);
    return read_dynamic_names(mapped.bytes(), file);
  } catch (const std::exception&) {
    return {};  // loading the plugin will report the error
  }
}

}  // namespace

DynamicNames read_dynamic_names(std::span<const std::byte> content, const std::string& file) {
  const ElfFile elf(content, file);
  const auto section = elf.section_of_type(SHT_DYNAMIC);
  if (!section) return {};
  const auto strings = elf.section(section->sh_link);
  if (!strings || strings->sh_type != SHT_STRTAB) return {};
  const auto entries = elf.content(*section, "the dynamic section");
  const auto texts = elf.content(*strings, "the dynamic section's texts");
  DynamicNames names;
  for (size_t at = 0; at + sizeof(Elf64_Dyn) <= entries.size(); at += sizeof(Elf64_Dyn)) {
    Elf64_Dyn entry;
    std::memcpy(&entry, entries.data() + at, sizeof(entry));
    if (entry.d_tag == DT_NULL) break;
    if (entry.d_tag == DT_NEEDED) names.needed.push_back(text_at(texts, entry.d_un.d_val));
    if (entry.d_tag == DT_RUNPATH || entry.d_tag == DT_RPATH) {
      names.run_path = folders_of(text_at(texts, entry.d_un.d_val));
    }
  }
  return names;
}

void open_system_libraries(const std::string& file) {
  if (!kMayBindDeep) return;
  const DynamicNames names = names_of(file);
  const char* const chosen = std::getenv("LD_LIBRARY_PATH");
  std::vector<std::string> folders = folders_of(chosen == nullptr ? "" : chosen);
  const std::string origin = fs::absolute(file).parent_path().string();
  for (const std::string& folder : names.run_path) folders.push_back(with_origin(folder, origin));
  const fs::path system = system_folder();
  std::error_code ignored;
  for (const std::string& name : names.needed) {
    if (name.empty() || name.find('/') != std::string::npos || is_open(name)) continue;
    if (is_in(folders, name) || !fs::exists(system / name, ignored)) continue;
    // Like the plugin, it is never closed.
    ::dlopen((system / name).c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
  }
}

}  // namespace s2s
