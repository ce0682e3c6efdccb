#include "engine/whole_parameters.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <sstream>

#include "engine/engine.h"
#include "s2s/error.h"

namespace s2s {
namespace {

int64_t numel_of(const std::vector<int64_t>& sizes) {
  int64_t numel = 1;
  for (const int64_t size : sizes) numel *= size;
  return numel;
}

/// The elements of a run, as a view [repeat, count] of a contiguous tensor.
at::Tensor view_of(const at::Tensor& contiguous, const SpanRun& run) {
  const int64_t stride = run.repeat == 1 ? run.count : run.stride;
  return contiguous.as_strided({run.repeat, run.count}, {stride, 1},
                               contiguous.storage_offset() + run.begin);
}

/// The elements that a rank holds: for each parameter the number of runs, then the runs.
std::string runs_text(const std::vector<LocalShard>& parts) {
  std::ostringstream out;
  for (const LocalShard& part : parts) {
    const std::vector<SpanRun> runs = to_runs(part.spans);
    out << runs.size() << '\n';
    for (const SpanRun& run : runs) {
      out << run.begin << ' ' << run.count << ' ' << run.stride << ' ' << run.repeat << '\n';
    }
  }
  return out.str();
}

std::vector<SpanRun> read_runs(std::istringstream& in) {
  size_t count = 0;
  in >> count;
  std::vector<SpanRun> runs(count);
  for (SpanRun& run : runs) in >> run.begin >> run.count >> run.stride >> run.repeat;
  S2S_ASSERT(!in.fail(), "ranks list the same parameters");
  return runs;
}

}  // namespace

GatheredParameters::GatheredParameters(Communicator& ranks, std::vector<NamedTensor> shards,
                                       const std::vector<LocalShard>& parts)
    : ranks_(ranks), shards_(std::move(shards)) {
  S2S_ASSERT(shards_.size() == parts.size(), "a part describes each shard");
  for (size_t i = 0; i < parts.size(); ++i) {
    Layout& layout = layouts_[parts[i].name];
    layout.sizes = parts[i].sizes;
    layout.shard_sizes = shards_[i].tensor->sizes().vec();
  }
  const std::vector<std::string> texts = ranks_.size() == 1
                                             ? std::vector<std::string>{runs_text(parts)}
                                             : all_gather_texts(ranks_, runs_text(parts));
  for (const std::string& text : texts) {
    std::istringstream in(text);
    for (const LocalShard& part : parts) {
      Layout& layout = layouts_.at(part.name);
      layout.runs.push_back(read_runs(in));
      const int64_t count = count_elements(layout.runs.back());
      layout.largest = std::max(layout.largest, count);
      layout.is_whole = layout.is_whole && count == numel_of(layout.sizes);
    }
  }
}

const GatheredParameters::Layout& GatheredParameters::layout(const std::string& name) const {
  const auto found = layouts_.find(name);
  S2S_ASSERT(found != layouts_.end(), "the parameter is trained");
  return found->second;
}

const std::vector<int64_t>& GatheredParameters::sizes(const std::string& name) const {
  return layout(name).sizes;
}

at::Tensor GatheredParameters::gather(const std::string& name, const at::Tensor& shard) const {
  const Layout& of = layout(name);
  if (of.is_whole) return shard.reshape(of.sizes);
  const auto options = shard.options().device(at::Device(ranks_.device_type()));
  const at::Tensor piece = at::zeros({of.largest}, options);
  piece.narrow(0, 0, shard.numel()).copy_(shard.reshape({-1}));
  const at::Tensor pieces = at::empty({ranks_.size() * of.largest}, options);
  ranks_.all_gather(pieces, piece, name).wait();
  at::Tensor whole = at::empty(of.sizes, options);
  for (int64_t rank = 0; rank < ranks_.size(); ++rank) {
    int64_t next = rank * of.largest;
    for (const SpanRun& run : of.runs[static_cast<size_t>(rank)]) {
      const int64_t count = run.count * run.repeat;
      view_of(whole, run).copy_(pieces.narrow(0, next, count).view({run.repeat, run.count}));
      next += count;
    }
  }
  return whole.to(shard.device());
}

at::Tensor GatheredParameters::shard_of(const std::string& name, const at::Tensor& whole) const {
  const Layout& of = layout(name);
  if (of.is_whole) return whole.reshape(of.shard_sizes);
  const at::Tensor from = whole.contiguous();
  const at::Tensor shard = at::empty(of.shard_sizes, whole.options());
  const at::Tensor flat = shard.view({-1});
  int64_t next = 0;
  for (const SpanRun& run : of.runs[static_cast<size_t>(ranks_.rank())]) {
    const int64_t count = run.count * run.repeat;
    flat.narrow(0, next, count).view({run.repeat, run.count}).copy_(view_of(from, run));
    next += count;
  }
  return shard;
}

std::shared_ptr<const WholeParameters> Engine::whole_parameters() {
  std::vector<NamedTensor> shards;
  std::vector<LocalShard> parts;
  for (const auto& group : flat_groups_) {
    if (!group->is_trained()) continue;
    for (size_t i = 0; i < group->parameters().size(); ++i) {
      shards.push_back(shard_of(*group, i));
      parts.push_back(part_of(*group, i));
    }
  }
  return std::make_shared<GatheredParameters>(groups_of_mesh_.model(), std::move(shards), parts);
}

}  // namespace s2s
