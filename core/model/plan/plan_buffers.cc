#include "plan/plan_buffers.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "s2s/kinds/codec.h"
#include "s2s/nn/initial_values.h"

namespace s2s {
namespace {

std::vector<std::string> codec_paths(Block& model) {
  std::vector<std::string> paths;
  model.for_each_block([&](const std::string& path, Block& block) {
    if (!path.empty() && dynamic_cast<Codec*>(&block) != nullptr) paths.push_back(path);
  });
  return paths;
}

std::string part_of_buffer(const std::string& name, const std::vector<std::string>& codecs) {
  for (const std::string& codec : codecs) {
    if (name.starts_with(codec + ".")) return codec;
  }
  return name.substr(0, name.find('.'));
}

}  // namespace

std::vector<PlanBuffers> planned_buffers(Block& model) {
  const std::vector<std::string> codecs = codec_paths(model);
  std::vector<PlanBuffers> parts;
  for (const NamedTensor& buffer : model.named_buffers()) {
    if (!buffer.tensor->defined()) continue;
    const std::string name = part_of_buffer(buffer.name, codecs);
    auto part = std::find_if(parts.begin(), parts.end(),
                             [&](const PlanBuffers& known) { return known.part == name; });
    if (part == parts.end()) part = parts.insert(parts.end(), PlanBuffers{name});
    part->tensors += 1;
    part->elements += buffer.tensor->numel();
    part->bytes += static_cast<int64_t>(buffer.tensor->nbytes());
  }
  return parts;
}

void compute_meta_buffers(Block& model) {
  const std::vector<NamedTensor> buffers = model.named_buffers();
  const bool are_all_there = std::all_of(buffers.begin(), buffers.end(),
                                         [](const NamedTensor& b) { return b.tensor->defined(); });
  if (are_all_there) return;
  InitialValues(model, {at::kMeta, at::kFloat, 0, InitialValuesSettings::From::kNowhere});
}

}  // namespace s2s
