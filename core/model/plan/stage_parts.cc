#include <algorithm>
#include <map>
#include <set>

#include "base/number_text.h"
#include "s2s/kinds/backbone.h"

namespace s2s {
namespace {

std::string first_segment(const std::string& path) { return path.substr(0, path.find('.')); }

/// The parts that a tensor can be in. Layers are between the two others, by their number.
constexpr int64_t kBefore = -1;
constexpr int64_t kAfter = INT64_MAX;

/// The block of a tensor beside the language model at `path`: the segments that both share, and one
/// more.
std::string block_beside(const std::string& name, const std::string& path) {
  size_t begin = 0;
  for (size_t dot = name.find('.'); dot != std::string::npos; dot = name.find('.', begin)) {
    if (path.compare(0, dot + 1, name, 0, dot + 1) != 0) return name.substr(0, dot);
    begin = dot + 1;
  }
  return name;
}

/// The part of a tensor of a language model, and its block there. name: within the language model.
std::pair<int64_t, std::string> part_in_llm(const std::string& name) {
  const std::string child = first_segment(name);
  if (child == "embed_tokens") return {kBefore, child};
  if (child != "layers" || name == child) return {kAfter, child};
  const std::string layer = first_segment(name.substr(child.size() + 1));
  return {read_number<int64_t>(layer).value_or(kAfter), child + "." + layer};
}

}  // namespace

std::vector<StagePart> stages_around(Block& model, const std::string& path,
                                     const std::vector<std::string>& heads) {
  std::map<int64_t, std::set<std::string>> blocks;
  for (const std::vector<NamedTensor>& tensors :
       {model.named_parameters(), model.named_buffers()}) {
    for (const NamedTensor& tensor : tensors) {
      if (tensor.name.starts_with(path + ".")) {
        const auto [part, block] = part_in_llm(tensor.name.substr(path.size() + 1));
        blocks[part].insert(path + "." + block);
        continue;
      }
      const std::string block = block_beside(tensor.name, path);
      const bool is_after =
          block == "lm_head" || std::find(heads.begin(), heads.end(), block) != heads.end();
      blocks[is_after ? kAfter : kBefore].insert(block);
    }
  }
  std::vector<StagePart> parts;
  for (const auto& [part, paths] : blocks) {
    const std::string name = part == kBefore  ? "embedding"
                             : part == kAfter ? "heads"
                                              : "layers." + std::to_string(part);
    parts.push_back({name, {paths.begin(), paths.end()}});
  }
  return parts;
}

}  // namespace s2s
