#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "s2s/weights.h"
#include "weights/json_file.h"
#include "weights/safetensors.h"
#include "weights/weights_errors.h"

namespace s2s {
namespace {

namespace fs = std::filesystem;

constexpr const char* kIndexName = "model.safetensors.index.json";

/// Tensor name -> file name, as the index says.
std::map<std::string, std::string> read_index(const fs::path& path) {
  const auto index = read_json_file(path.string());
  if (!index.is_object() || !index.contains("weight_map") || !index["weight_map"].is_object()) {
    throw weights_errors::format(path.string(), "no 'weight_map', which says where each tensor is");
  }
  std::map<std::string, std::string> files;
  for (const auto& [tensor, file] : index["weight_map"].items()) {
    const fs::path name = file.is_string() ? file.get<std::string>() : std::string();
    if (name.empty() || name.filename() != name) {
      throw weights_errors::tensor_format(path.string(), tensor,
                                          file.dump() + " is not the name of a file beside");
    }
    files[tensor] = name.string();
  }
  return files;
}

TensorMap read_indexed(const fs::path& folder) {
  std::map<std::string, SafetensorsFile> opened;
  TensorMap tensors;
  for (const auto& [tensor, name] : read_index(folder / kIndexName)) {
    auto it = opened.find(name);
    if (it == opened.end()) {
      it = opened.emplace(name, SafetensorsFile::open((folder / name).string())).first;
    }
    tensors[tensor] = it->second.tensor(tensor);
  }
  return tensors;
}

std::vector<fs::path> weight_files(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == ".safetensors") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

TensorMap read_all(const fs::path& folder) {
  const std::vector<fs::path> files = weight_files(folder);
  if (files.empty()) {
    throw weights_errors::unreadable(
        folder.string(), "the folder has no *.safetensors file (pickled .bin files are not read)");
  }
  TensorMap tensors;
  std::map<std::string, std::string> home;
  for (const fs::path& path : files) {
    for (auto& [name, tensor] : SafetensorsFile::open(path.string()).tensors()) {
      const auto [it, is_new] = home.emplace(name, path.string());
      if (!is_new) throw weights_errors::duplicate(name, it->second, path.string());
      tensors[name] = std::move(tensor);
    }
  }
  return tensors;
}

}  // namespace

TensorMap read_weights(const std::string& path) {
  std::error_code ignored;
  if (!fs::exists(path, ignored)) {
    throw weights_errors::unreadable(path, "no such file or folder");
  }
  if (!fs::is_directory(path, ignored)) return SafetensorsFile::open(path).tensors();
  return fs::exists(fs::path(path) / kIndexName, ignored) ? read_indexed(path) : read_all(path);
}

std::string resolve_path(const std::string& path, const std::string& base_dir) {
  if (path.rfind("~/", 0) == 0) {
    const char* home = std::getenv("HOME");
    return (fs::path(home == nullptr ? "/" : home) / path.substr(2)).string();
  }
  return fs::path(path).is_absolute() ? path : (fs::path(base_dir) / path).string();
}

}  // namespace s2s
