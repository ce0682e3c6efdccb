#include "weights/weight_shards.h"

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "base/atomic_file.h"
#include "base/regex.h"
#include "weights/safetensors.h"

namespace s2s {
namespace {

namespace fs = std::filesystem;

constexpr const char* kIndex = "model.safetensors.index.json";

/// Assigns tensors to files, in the order of their names.
std::vector<TensorMap> split(const TensorMap& tensors, const ShardSettings& settings) {
  std::vector<TensorMap> shards(1);
  uint64_t filled = 0;
  for (const auto& [name, tensor] : tensors) {
    const uint64_t bytes = written_bytes(tensor, settings.float_type);
    if (!shards.back().empty() && filled + bytes > settings.max_shard_bytes) {
      shards.emplace_back();
      filled = 0;
    }
    shards.back()[name] = tensor;
    filled += bytes;
  }
  return shards;
}

std::string file_name(size_t number, size_t count) {
  if (count == 1) return "model.safetensors";
  return fmt::format("model-{:05}-of-{:05}.safetensors", number, count);
}

/// Removes weights of an earlier export, except for those in `kept`.
void remove_others(const fs::path& folder, const std::set<std::string>& kept) {
  static const Regex pattern(R"(model(-[0-9]{5}-of-[0-9]{5})?\.safetensors)");
  std::vector<fs::path> others;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (pattern.match(name) && kept.count(name) == 0) others.push_back(entry.path());
  }
  for (const fs::path& path : others) fs::remove(path);
}

}  // namespace

WrittenShards write_weight_shards(const std::string& folder, const TensorMap& tensors,
                                  const ShardSettings& settings) {
  const std::vector<TensorMap> shards = split(tensors, settings);
  WrittenShards written{static_cast<int64_t>(shards.size()), 0};
  nlohmann::ordered_json weight_map = nlohmann::ordered_json::object();
  std::set<std::string> files;
  fs::remove(fs::path(folder) / kIndex);  // it would refer to files that are being replaced
  for (size_t i = 0; i < shards.size(); ++i) {
    const std::string file = file_name(i + 1, shards.size());
    write_safetensors((fs::path(folder) / file).string(), shards[i], {{"format", "pt"}},
                      settings.float_type);
    files.insert(file);
    for (const auto& [name, tensor] : shards[i]) {
      weight_map[name] = file;
      written.total_bytes += written_bytes(tensor, settings.float_type);
    }
  }
  if (shards.size() > 1) {
    const nlohmann::ordered_json index = {{"metadata", {{"total_size", written.total_bytes}}},
                                          {"weight_map", std::move(weight_map)}};
    write_file_atomically((fs::path(folder) / kIndex).string(), index.dump(2) + "\n");
  }
  remove_others(folder, files);
  return written;
}

}  // namespace s2s
