#include "weights/lora_fused.h"

#include <ATen/ATen.h>

#include <map>
#include <set>

#include "nn/lora.h"
#include "s2s/error.h"
#include "weights/fused_rows.h"

namespace s2s {
namespace {

const std::string kWeightEnding = ".weight";
const std::string kPartA = ".lora_A.weight";
const std::string kPartB = ".lora_B.weight";
const std::string kJoinedPrefix = "base_model.model.";

std::string without_ending(const std::string& name, const std::string& ending) {
  return name.substr(0, name.size() - ending.size());
}

/// Our parameters by name. Layers without an adapter have a weight only.
using Parameters = std::map<std::string, at::Tensor>;

/// A and B of all layers of one joined weight, in the order of its rows.
std::pair<at::Tensor, at::Tensor> join(const std::vector<std::string>& weights,
                                       const Parameters& ours) {
  std::vector<at::Tensor> tops, blocks;
  int64_t rank = 0;
  at::TensorOptions options;
  for (const std::string& weight : weights) {
    const auto a = ours.find(without_ending(weight, kWeightEnding) + kPartA);
    if (a == ours.end()) continue;
    rank += a->second.size(0);
    options = a->second.options();
  }
  int64_t begin = 0;
  for (const std::string& weight : weights) {
    const std::string layer = without_ending(weight, kWeightEnding);
    const auto a = ours.find(layer + kPartA);
    const int64_t rows = ours.at(weight).size(0);
    blocks.push_back(at::zeros({rows, rank}, options));
    if (a == ours.end()) continue;
    const at::Tensor& b = ours.at(layer + kPartB);
    blocks.back().narrow(1, begin, b.size(1)).copy_(b);
    begin += b.size(1);
    tops.push_back(a->second);
  }
  return {at::cat(tops, 0), at::cat(blocks, 0)};
}

}  // namespace

TensorMap joined_lora_tensors(Block& root, const NameMap& names) {
  TensorMap tensors = lora_tensors(root, names);
  Parameters ours;
  for (const NamedTensor& p : root.named_parameters()) ours[p.name] = p.tensor->detach();
  const auto is_joined = [&](const std::string& theirs) {
    return !fused_parts(names, theirs).empty();
  };
  std::set<std::string> done;
  for (const auto& [name, tensor] : ours) {
    if (!name.ends_with(kPartA)) continue;
    const std::string weight = without_ending(name, kPartA) + kWeightEnding;
    const auto theirs = names.to_theirs(weight, is_joined);
    if (!theirs || !is_joined(*theirs)) continue;
    const std::string alone =
        kJoinedPrefix + without_ending(*names.to_theirs(weight), kWeightEnding);
    for (const std::string& part : {kPartA, kPartB}) tensors.erase(alone + part);
    if (!done.insert(*theirs).second) continue;
    const auto [a, b] = join(fused_parts(names, *theirs), ours);
    const std::string module = kJoinedPrefix + without_ending(*theirs, kWeightEnding);
    tensors[module + kPartA] = a;
    tensors[module + kPartB] = b;
  }
  return tensors;
}

std::vector<std::string> adapted_modules(const TensorMap& tensors) {
  std::set<std::string> modules;
  for (const auto& [name, tensor] : tensors) {
    modules.insert(name.substr(kJoinedPrefix.size(), name.rfind(".lora_") - kJoinedPrefix.size()));
  }
  return {modules.begin(), modules.end()};
}

}  // namespace s2s
