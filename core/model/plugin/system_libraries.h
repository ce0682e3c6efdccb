#pragma once
// Loads the system libraries that a plugin needs, separated from LibTorch's symbols.

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace s2s {

/// The contents of a shared object's dynamic section.
struct DynamicNames {
  std::vector<std::string> needed;    // DT_NEEDED
  std::vector<std::string> run_path;  // folders of DT_RUNPATH or DT_RPATH, as written
};

/// Errors: [plugin/not-elf], [plugin/truncated]. Without a dynamic section, both lists are empty.
/// Source: System V ABI, chapter "Dynamic Section".
DynamicNames read_dynamic_names(std::span<const std::byte> content, const std::string& file);

/// Opens the libraries that the plugin `file` needs from the system folder and that are not open
/// yet. Each resolves symbols in itself before LibTorch. Otherwise two flags with one name and
/// different sizes could overwrite each other's memory.
/// Libraries on the plugin's run path or in LD_LIBRARY_PATH are loaded as usual, because they may
/// need LibTorch. Errors: none; loading the plugin reports missing libraries.
/// Source: dlopen(3), RTLD_DEEPBIND.
void open_system_libraries(const std::string& file);

}  // namespace s2s
