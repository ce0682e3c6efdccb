#pragma once
// The system's libraries that a plugin needs, kept apart from LibTorch's symbols.

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace s2s {

/// What a shared object's dynamic section says.
struct DynamicNames {
  std::vector<std::string> needed;    // DT_NEEDED
  std::vector<std::string> run_path;  // folders of DT_RUNPATH or DT_RPATH, as they are written
};

/// Errors: [plugin/not-elf], [plugin/truncated]. An object without a dynamic section has no names.
/// Source: System V ABI, chapter "Dynamic Section".
DynamicNames read_dynamic_names(std::span<const std::byte> content, const std::string& file);

/// Opens those libraries that the plugin `file` takes from the system's own folder and that nothing
/// has opened yet. Each finds its own symbols before those of LibTorch: both may have a flag of one
/// name and of different sizes, and one would write into the other's memory.
/// What lies on the plugin's run path, or in LD_LIBRARY_PATH, is bound as usual, for it may itself
/// need LibTorch. Errors: none; the plugin's own loading tells what is missing.
/// Source: dlopen(3), RTLD_DEEPBIND.
void open_system_libraries(const std::string& file);

}  // namespace s2s
