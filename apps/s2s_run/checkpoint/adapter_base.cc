#include "s2s_run/checkpoint/adapter_base.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <filesystem>

#include "base/path_pattern.h"
#include "s2s/error.h"
#include "s2s/nn/weights.h"
#include "s2s_run/checkpoint/stored_config.h"

namespace s2s::run {
namespace {

namespace fs = std::filesystem;

/// Elements of each tensor that are compared. Training changes rows everywhere.
constexpr int64_t kComparedElements = int64_t{1} << 16;

bool is_equal(const at::Tensor& ours, const at::Tensor& theirs) {
  if (ours.sizes() != theirs.sizes()) return false;
  const int64_t step = std::max<int64_t>(1, ours.numel() / kComparedElements);
  const at::Tensor a = ours.flatten().slice(0, 0, std::nullopt, step);
  return at::equal(a, theirs.flatten().slice(0, 0, std::nullopt, step).to(a.scalar_type()));
}

}  // namespace

bool has_transformers_model(const std::string& folder) {
  std::error_code ignored;
  if (!fs::is_regular_file(fs::path(folder) / "config.json", ignored)) return false;
  for (const char* name : {"model.safetensors", "model.safetensors.index.json", "pytorch_model.bin",
                           "pytorch_model.bin.index.json"}) {
    if (fs::is_regular_file(fs::path(folder) / name, ignored)) return true;
  }
  return false;
}

std::optional<std::string> base_folder(const std::string& checkpoint, const std::string& key,
                                       const TensorMap& base) {
  Config config = stored_config(checkpoint);
  const std::optional<std::string> path = stored_text(config, split_path(key));
  if (!path || !has_transformers_model(resolve_path(*path, "."))) return std::nullopt;
  const std::string folder = fs::absolute(resolve_path(*path, ".")).lexically_normal().string();
  try {
    const WeightFiles files = WeightFiles::open(folder);
    for (const auto& [name, tensor] : base) {
      if (files.facts().count(name) == 0) continue;  // a class may spell it in another way
      if (!is_equal(tensor, files.tensor(name))) return std::nullopt;
      files.release(name);
    }
  } catch (const Error&) {
    return std::nullopt;
  }
  return folder;
}

}  // namespace s2s::run
