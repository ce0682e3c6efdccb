#include "checkpoint/checkpoint_shards.h"

#include <ATen/ATen.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <stdexcept>

#include "s2s/error.h"
#include "weights/checkpoint_files.h"

namespace s2s {
namespace {

bool has_first_number(const LocalShard& part) {
  return std::any_of(part.spans.begin(), part.spans.end(),
                     [](const TensorSpan& span) { return span.begin == 0 && span.count > 0; });
}

/// Adds a tensor that is sharded like `part`.
void add_cut(RankFile& file, const std::string& name, const at::Tensor& tensor,
             const LocalShard& part) {
  TensorEntry entry{tensor.scalar_type(), part.sizes, {}};
  if (part.is_owner && count_elements(part.sizes) == 0) {
    file.tensors[name] = tensor.view(part.sizes);
  } else if (part.is_owner && tensor.numel() > 0) {
    entry.shards.push_back({"", to_runs(part.spans)});
    const bool is_whole =
        tensor.numel() == count_elements(part.sizes) && entry.shards[0].runs.size() == 1;
    file.tensors[name] = is_whole ? tensor.view(part.sizes) : tensor.view({-1});
  }
  file.shards[name] = std::move(entry);
}

/// Adds a full tensor. On ranks that do not own it, adds only its dtype and sizes.
void add_whole(RankFile& file, const std::string& name, const at::Tensor& tensor, bool is_owner) {
  TensorEntry entry{tensor.scalar_type(), tensor.sizes().vec(), {}};
  if (is_owner) file.tensors[name] = tensor;
  if (is_owner && tensor.numel() > 0) {
    entry.shards.push_back({"", {{0, tensor.numel(), 0, 1}}});
  }
  file.shards[name] = std::move(entry);
}

}  // namespace

std::vector<LocalShard> whole_parts(Block& model) {
  std::vector<LocalShard> parts;
  for (const NamedTensor& stored : stored_tensors(model)) {
    if (stored.tensor->defined())
      parts.push_back(whole_shard(stored.name, stored.tensor->detach()));
  }
  return parts;
}

RankFile model_shards(const std::vector<LocalShard>& parts) {
  RankFile file{"model", {}, {}};
  for (const LocalShard& part : parts) {
    S2S_ASSERT(part.tensor.numel() == count_elements(part.spans),
               "a part has as many elements as its spans");
    add_cut(file, part.name, part.tensor.detach(), part);
  }
  return file;
}

PartsByName::PartsByName(const std::vector<LocalShard>& parts) {
  for (const LocalShard& part : parts) parts_[part.name] = &part;
}

const LocalShard* PartsByName::find(const std::string& name) const {
  const auto found = parts_.find(name);
  return found == parts_.end() ? nullptr : found->second;
}

const LocalShard* PartsByName::of_state(const std::string& name) const {
  for (size_t end = name.size(); end != std::string::npos && end > 0;
       end = name.rfind('.', end - 1)) {
    if (const LocalShard* const part = find(name.substr(0, end))) return part;
  }
  return nullptr;
}

bool is_cut_like(const at::Tensor& state, const LocalShard& part) {
  return state.dim() > 0 && state.numel() == part.tensor.numel();
}

RankFile optimizer_shards(const TensorMap& state, const std::vector<LocalShard>& parts,
                          int64_t rank, const std::function<bool(const std::string&)>& is_whole) {
  RankFile file{"optimizer", {}, {}};
  const PartsByName by_name(parts);
  for (const auto& [name, value] : state) {
    const at::Tensor tensor = value.detach().contiguous();
    const LocalShard* const part = by_name.of_state(name);
    const bool is_said_whole = is_whole && is_whole(name);
    if (part == nullptr) {
      add_whole(file, name, tensor, rank == 0);
    } else if (!is_said_whole && is_cut_like(tensor, *part)) {
      add_cut(file, name, tensor, *part);
    } else if (is_said_whole || tensor.dim() == 0 ||
               part->tensor.numel() == count_elements(part->sizes)) {
      const bool is_of_nothing = count_elements(part->sizes) == 0 && rank == 0;
      add_whole(file, name, tensor, part->is_owner && (has_first_number(*part) || is_of_nothing));
    } else {
      throw std::runtime_error(fmt::format(
          "the optimizer's {} has {} elements, but this rank's shard of {} has {}; this state can "
          "only be saved when the parameter is not sharded",
          name, tensor.numel(), part->name, part->tensor.numel()));
    }
  }
  return file;
}

void StagingBuffer::stage(std::vector<RankFile>& files) {
  std::vector<at::Tensor*> tensors;
  std::set<c10::Device, bool (*)(c10::Device, c10::Device)> devices(
      [](c10::Device a, c10::Device b) { return a.str() < b.str(); });
  int64_t bytes = 0;
  for (RankFile& file : files) {
    for (auto& [name, tensor] : file.tensors) {
      tensors.push_back(&tensor);
      bytes += PinnedBlocks::aligned(static_cast<int64_t>(tensor.nbytes()));
      if (!tensor.device().is_cpu()) devices.insert(tensor.device());
    }
  }
  // The largest first: smaller ones fit into what they leave of a block.
  std::stable_sort(tensors.begin(), tensors.end(), [](const at::Tensor* a, const at::Tensor* b) {
    return a->nbytes() > b->nbytes();
  });
  if (!memory_) memory_.emplace(/*is_pinned=*/!devices.empty());
  memory_->reuse();
  if (memory_->bytes() < bytes) memory_->clear();  // free it before more is allocated
  for (at::Tensor* const tensor : tensors) {
    const auto size = static_cast<int64_t>(tensor->nbytes());
    at::Tensor copy = memory_->take(size, bytes).view(tensor->scalar_type()).view(tensor->sizes());
    copy.copy_(*tensor, /*non_blocking=*/true);
    *tensor = std::move(copy);
    bytes -= PinnedBlocks::aligned(size);
  }
  for (const c10::Device device : devices) {
    c10::impl::VirtualGuardImpl(device.type()).synchronizeDevice(device.index());
  }
}

}  // namespace s2s
