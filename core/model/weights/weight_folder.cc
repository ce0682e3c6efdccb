#include "weights/weight_folder.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>

#include "s2s/nn/weights.h"
#include "weights/distributed_folder.h"
#include "weights/json_file.h"
#include "weights/weights_errors.h"

namespace s2s {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kIndexSuffix = ".index.json";
constexpr std::string_view kAdapterFile = "adapter_model.safetensors";

/// Programs that do not know the size write 0.
std::optional<uint64_t> total_size(const nlohmann::json& index) {
  const nlohmann::json::json_pointer place("/metadata/total_size");
  if (!index.is_object() || !index.contains(place) || !index[place].is_number_unsigned()) return {};
  const auto bytes = index[place].get<uint64_t>();
  return bytes == 0 ? std::nullopt : std::optional<uint64_t>(bytes);
}

WeightIndex read_index(const fs::path& path) {
  const auto json = read_sorted_json_file(path.string());
  WeightIndex index{path.string(), {}, total_size(json)};
  if (!json.is_object() || !json.contains("weight_map") || !json["weight_map"].is_object()) {
    throw weights_errors::index(index.path,
                                {"there is no 'weight_map', which says where each tensor is"});
  }
  std::vector<std::string> findings;
  for (const auto& [tensor, file] : json["weight_map"].items()) {
    const fs::path name = file.is_string() ? file.get<std::string>() : std::string();
    if (name.empty() || name.filename() != name || name == "." || name == "..") {
      const std::string text = file.is_string() ? "'" + name.string() + "'" : file.type_name();
      findings.push_back("tensor '" + tensor + "': " + text +
                         " is not the name of a file in its folder");
    } else {
      index.home[tensor] = (path.parent_path() / name).string();
    }
  }
  if (!findings.empty()) throw weights_errors::index(index.path, findings);
  return index;
}

std::vector<std::string> files_with(const fs::path& folder, const char* extension) {
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const fs::path& path = entry.path();
    if (path.extension() == extension && path.filename() != kAdapterFile) {
      files.push_back(path.string());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

WeightFolder search(const fs::path& folder) {
  const auto has = [&](const char* name) { return fs::exists(folder / name); };
  const auto one = [&](const char* name) { return WeightFolder{{}, {(folder / name).string()}}; };
  const auto indexed = [&](const char* name) {
    return WeightFolder{read_index(folder / name), {}};
  };
  if (has("index.json") && has("state.json")) return one("index.json");  // a checkpoint of ours
  if (has(DistributedFolder::kMetadata)) return one(DistributedFolder::kMetadata);
  if (has("model.safetensors.index.json")) return indexed("model.safetensors.index.json");
  if (has("model.safetensors")) return one("model.safetensors");
  if (auto files = files_with(folder, ".safetensors"); !files.empty())
    return {{}, std::move(files)};
  if (has("pytorch_model.bin.index.json")) return indexed("pytorch_model.bin.index.json");
  for (const char* name : {"pytorch_model.bin", "model_weights.ckpt"}) {
    if (has(name)) return one(name);
  }
  if (auto archives = files_with(folder, ".nemo"); archives.size() == 1) return {{}, archives};
  throw weights_errors::unreadable(folder.string(),
                                   "the folder has no *.safetensors file, no .metadata, no "
                                   "pytorch_model.bin, no model_weights.ckpt and not "
                                   "exactly one *.nemo archive");
}

/// Returns false for anything but a regular file: opening a named pipe would block.
bool starts_like_zip(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return false;
  std::array<char, 2> begin{};
  const ssize_t got = ::pread(file, begin.data(), begin.size(), 0);
  ::close(file);
  return got == 2 && begin == std::array<char, 2>{'P', 'K'};
}

}  // namespace

std::map<std::string, int64_t> WeightIndex::files() const {
  std::map<std::string, int64_t> all;
  for (const auto& entry : home) ++all[entry.second];
  return all;
}

WeightFolder find_weights(const std::string& path) {
  std::error_code ignored;
  if (!fs::exists(path, ignored)) {
    throw weights_errors::unreadable(path, "no such file or folder");
  }
  if (fs::is_directory(path, ignored)) return search(path);
  if (path.ends_with(kIndexSuffix)) return {read_index(path), {}};
  return {{}, {path}};
}

bool is_torch_file(const std::string& path) {
  const std::string extension = fs::path(path).extension();
  if (extension == ".safetensors") return false;
  for (const char* known : {".bin", ".pt", ".pth", ".ckpt", ".nemo"}) {
    if (extension == known) return true;
  }
  return starts_like_zip(path);
}

std::string resolve_path(const std::string& path, const std::string& base_dir) {
  if (path.rfind("~/", 0) == 0) {
    const char* home = std::getenv("HOME");
    return (fs::path(home == nullptr ? "/" : home) / path.substr(2)).string();
  }
  return fs::path(path).is_absolute() ? path : (fs::path(base_dir) / path).string();
}

}  // namespace s2s
