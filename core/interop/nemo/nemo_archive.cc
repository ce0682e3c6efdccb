#include "s2s/nemo_archive.h"

#include <filesystem>
#include <system_error>

#include "config/yaml_reader.h"
#include "s2s/foreign_text.h"
#include "weights/archives.h"
#include "weights/weights_errors.h"

namespace s2s {
namespace {

namespace fs = std::filesystem;

constexpr const char* kConfigName = "model_config.yaml";
constexpr uint64_t kLargestConfig = uint64_t{4} << 20;

/// The only file *.nemo in a folder; "" if there is none or there are several, or if the folder has
/// weights in Hugging Face's format, too, which WeightFiles reads first.
std::string only_archive(const fs::path& folder) {
  std::string found;
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, ignored)) {
    const fs::path& path = entry.path();
    if (path.extension() == ".safetensors" || path.filename() == "pytorch_model.bin") return "";
    if (path.extension() != ".nemo") continue;
    if (!found.empty()) return "";
    found = path.string();
  }
  return found;
}

std::string read_file_of(const std::string& path, const std::string& name, uint64_t max_bytes) {
  const bool is_folder = fs::is_directory(path);
  if (!is_folder) return read_archive_text(path, name, max_bytes);
  const fs::path file = fs::path(path) / fs::path(name).filename();
  if (!fs::exists(file)) {
    if (const std::string inner = only_archive(path); !inner.empty()) {
      return read_archive_text(inner, name, max_bytes);
    }
  }
  try {
    return read_small_file(file.string(), max_bytes);
  } catch (const std::system_error& error) {
    throw weights_errors::unreadable(file.string(), error.code().message());
  }
}

}  // namespace

bool is_nemo_archive(const std::string& path) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) {
    return fs::exists(fs::path(path) / kConfigName, ignored) || !only_archive(path).empty();
  }
  return fs::is_regular_file(path, ignored) && fs::path(path).extension() == ".nemo";
}

Config read_nemo_config(const std::string& path) {
  return parse_yaml(read_file_of(path, kConfigName, kLargestConfig), path);
}

std::string read_nemo_file(const std::string& path, const std::string& name, uint64_t max_bytes) {
  return read_file_of(path, name, max_bytes);
}

}  // namespace s2s
