#include "engine/flat_group.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>

#include "s2s/error.h"

namespace s2s {
namespace {

constexpr int64_t kAlignment = 32;  // in elements: 64 bytes for 16-bit dtypes

int64_t round_up(int64_t value, int64_t step) { return (value + step - 1) / step * step; }

std::vector<int64_t> slots_of(const std::vector<FlatParameter>& parameters) {
  std::vector<int64_t> numels;
  for (const FlatParameter& parameter : parameters) numels.push_back(parameter.slot_numel);
  return numels;
}

}  // namespace

FlatLayout::FlatLayout(std::vector<int64_t> numels, int64_t num_ranks)
    : numels_(std::move(numels)), num_ranks_(num_ranks) {
  int64_t end = 0;
  for (const int64_t numel : numels_) {
    begins_.push_back(end);
    end = round_up(end + numel, kAlignment);
  }
  part_ = round_up((end + num_ranks - 1) / num_ranks, kAlignment);
}

FlatRange FlatLayout::held(size_t i, int64_t rank) const {
  const int64_t begin = std::max(begins_[i], rank * part_);
  const int64_t end = std::min(begins_[i] + numels_[i], (rank + 1) * part_);
  if (begin >= end) return {0, 0};
  return {begin - begins_[i], end - begin};
}

int64_t FlatLayout::place_in_part(size_t i, int64_t rank) const {
  const FlatRange range = held(i, rank);
  return range.count == 0 ? 0 : begins_[i] + range.begin - rank * part_;
}

std::vector<FlatRange> FlatLayout::gaps() const {
  std::vector<FlatRange> gaps;
  int64_t end = 0;
  for (size_t i = 0; i <= numels_.size(); ++i) {
    const int64_t next = i < numels_.size() ? begins_[i] : total_numel();
    if (next > end) gaps.push_back({end, next - end});
    if (i < numels_.size()) end = begins_[i] + numels_[i];
  }
  return gaps;
}

FlatGroup::FlatGroup(std::vector<FlatParameter> parameters, const FlatGroupSettings& settings)
    : parameters_(std::move(parameters)),
      settings_(settings),
      layout_(slots_of(parameters_), settings.gathers->size()) {
  const at::NoGradGuard no_grad;
  const at::Tensor& first = *parameters_.front().named.tensor;
  is_trained_ = first.requires_grad();
  shares_memory_ =
      first.scalar_type() == settings.gather_type && settings.host == nullptr && !settings.frees;
  take_values();
  make_leaves();
  make_shards();
  if (settings_.frees) reshard(false);
}

/// Returns the elements of all members in their slots.
at::Tensor FlatGroup::filled() const {
  const at::Tensor& first = *parameters_.front().named.tensor;
  const auto options = at::TensorOptions().dtype(first.scalar_type()).device(settings_.device);
  settings_.memory->forget_but(static_cast<size_t>(layout_.total_numel()) * first.element_size());
  at::Tensor flat = settings_.memory->tensor(layout_.total_numel(), options);
  for (const FlatRange& gap : layout_.gaps()) flat.narrow(0, gap.begin, gap.count).zero_();
  for (size_t i = 0; i < parameters_.size(); ++i) {
    const int64_t numel = parameters_[i].named.tensor->numel();
    const at::Tensor slot = flat.narrow(0, layout_.begin(i), layout_.numel(i));
    take_value(i, slot.narrow(0, 0, numel));
    slot.narrow(0, numel, slot.numel() - numel).zero_();
  }
  return flat;
}

/// Copies the value of the member. A meta member gets this rank's part of its initial values.
void FlatGroup::take_value(size_t i, const at::Tensor& elements) const {
  const at::Tensor& member = *parameters_[i].named.tensor;
  const TensorPlacement* const share = parameters_[i].share;
  if (!member.is_meta()) {
    elements.copy_(member.detach().reshape({-1}));
  } else if (!settings_.values->any()) {
    elements.zero_();
  } else if (share == nullptr || share->part.dim < 0) {
    settings_.values->write(&member, elements.view(member.sizes()));
  } else {
    const int64_t numel = c10::multiply_integers(share->sizes);
    const at::Tensor whole = settings_.memory->tensor(numel, elements.options()).view(share->sizes);
    settings_.values->write(&member, whole);
    const at::Tensor here = share->part.view(whole);
    elements.view(here.sizes()).copy_(here);
  }
}

void FlatGroup::take_values() {
  at::Tensor flat = filled();
  settings_.data->broadcast(flat, 0, settings_.name).wait();
  part_ = flat.narrow(0, rank() * layout_.part_numel(), layout_.part_numel());
  if (settings_.host != nullptr) {
    part_ = settings_.host->empty(part_.numel(), part_.scalar_type()).copy_(part_);
  } else if (!shares_memory_) {
    part_ = part_.clone();
  }
  is_whole_ = true;
  const auto options = flat.options().dtype(settings_.gather_type);
  if (!settings_.frees || flat.scalar_type() == settings_.gather_type) {
    whole_ = flat.to(options);
    return;
  }
  flat.reset();  // free it first: `unshard` fills whole_ from the parts
  whole_ = settings_.memory->tensor(layout_.total_numel(), options);
}

void FlatGroup::make_leaves() {
  for (size_t i = 0; i < parameters_.size(); ++i) {
    at::Tensor& member = *parameters_[i].named.tensor;
    const std::vector<int64_t> sizes = member.sizes().vec();
    const bool requires_grad = member.requires_grad();
    at::Tensor leaf = at::empty({0}, whole_.options());
    leaf.set_(whole_.storage(), layout_.begin(i), sizes, c10::contiguous_strides(sizes));
    member = leaf.set_requires_grad(requires_grad);
  }
}

void FlatGroup::make_shards() {
  for (size_t i = 0; i < parameters_.size(); ++i) {
    const FlatRange range = held(i);
    at::Tensor shard = part_.narrow(0, layout_.place_in_part(i, rank()), range.count);
    const at::Tensor& member = *parameters_[i].named.tensor;
    if (range.count == member.numel()) shard = shard.view(member.sizes());
    shards_.push_back(shard.detach().set_requires_grad(is_trained_));
  }
}

FlatRange FlatGroup::held(size_t i) const {
  FlatRange range = layout_.held(i, rank());
  const int64_t numel = parameters_[i].named.tensor->numel();
  range.begin = std::min(range.begin, numel);
  range.count = std::min(range.count, numel - range.begin);
  return range;
}

at::Tensor FlatGroup::own_slice() const {
  return whole_.narrow(0, rank() * layout_.part_numel(), layout_.part_numel());
}

void FlatGroup::unshard() {
  if (is_whole_ || gathering_) return;
  const at::NoGradGuard no_grad;
  settings_.memory->restore(whole_);
  if (near_part_.defined()) {
    const int64_t numel = near_part_.numel();
    const at::Tensor own = whole_.narrow(0, settings_.near->rank() * numel, numel);
    own.copy_(near_part_);
    near_part_.reset();
    gathering_ = settings_.near->all_gather(whole_, own, settings_.name);
    return;
  }
  const auto gather = [this] {
    fill_own_slice();
    gathering_ = settings_.gathers->all_gather(whole_, own_slice(), settings_.name);
  };
  if (settings_.host == nullptr) {
    gather();
  } else {
    came_from_host_ = settings_.host->to_device(gather);
  }
}

void FlatGroup::fill_own_slice() {
  if (shares_memory_) return;
  if (settings_.host == nullptr || part_.scalar_type() == whole_.scalar_type()) {
    own_slice().copy_(part_, /*non_blocking=*/true);
    return;
  }
  if (!host_copy_.defined()) {
    host_copy_ = settings_.host->empty(part_.numel(), whole_.scalar_type());
  }
  if (!host_copy_is_new_) host_copy_.copy_(part_);
  host_copy_is_new_ = true;
  own_slice().copy_(host_copy_, /*non_blocking=*/true);
}

void FlatGroup::wait_unshard() {
  if (is_whole_) return;
  unshard();
  gathering_->wait();
  gathering_.reset();
  if (settings_.host != nullptr) settings_.host->wait_for(came_from_host_);
  came_from_host_.reset();
  is_whole_ = true;
}

void FlatGroup::outdate() {
  if (gathering_) wait_unshard();
  near_part_.reset();
  host_copy_is_new_ = false;
  is_whole_ = shares_memory_ && settings_.gathers->size() == 1;
}

void FlatGroup::reshard(bool for_backward) {
  if (!settings_.frees) return;
  if (gathering_) wait_unshard();
  if (!is_whole_) return;
  if (for_backward && settings_.near != nullptr) {
    const int64_t numel = whole_.numel() / settings_.near->size();
    near_part_ = whole_.narrow(0, settings_.near->rank() * numel, numel).clone();
  }
  settings_.memory->free(whole_);
  is_whole_ = false;
}

void FlatGroup::take_gradient(size_t i) {
  const at::NoGradGuard no_grad;
  FlatParameter& parameter = parameters_[i];
  at::Tensor& gradient = parameter.named.tensor->mutable_grad();
  if (!gradient.defined()) return;
  S2S_ASSERT(!reducing_, "a gradient comes before its group is reduced");
  if (!whole_gradient_.defined()) {
    whole_gradient_ = settings_.memory->tensor(layout_.total_numel(),
                                               whole_.options().dtype(settings_.reduce_type));
    for (const FlatRange& gap : layout_.gaps()) {
      whole_gradient_.narrow(0, gap.begin, gap.count).zero_();
    }
  }
  const at::Tensor slot =
      whole_gradient_.narrow(0, layout_.begin(i), gradient.numel()).view(gradient.sizes());
  if (parameter.has_arrived) {
    slot.add_(gradient);
  } else {
    slot.copy_(gradient);
  }
  gradient.reset();
  parameter.has_arrived = parameter.was_reached = true;
}

void FlatGroup::start_reduce() {
  const at::NoGradGuard no_grad;
  const auto options = whole_.options().dtype(settings_.reduce_type);
  if (!whole_gradient_.defined()) {
    whole_gradient_ = settings_.memory->tensor(layout_.total_numel(), options).zero_();
  }
  for (size_t i = 0; i < parameters_.size(); ++i) {
    const int64_t numel = parameters_[i].has_arrived ? parameters_[i].named.tensor->numel() : 0;
    // Without gradient, or padding up to the largest tensor rank.
    const int64_t missing = layout_.numel(i) - numel;
    if (missing > 0) whole_gradient_.narrow(0, layout_.begin(i) + numel, missing).zero_();
    parameters_[i].has_arrived = false;
  }
  if (settings_.reductions->size() == 1) {
    sum_ = whole_gradient_;
    return;
  }
  sum_ = at::empty({layout_.part_numel()}, options);
  reducing_ =
      settings_.reductions->reduce_scatter(sum_, whole_gradient_, Reduction::kSum, settings_.name);
}

void FlatGroup::finish_reduce() {
  if (!sum_.defined()) return;
  const at::NoGradGuard no_grad;
  if (reducing_) reducing_->wait();
  reducing_.reset();
  // The next unit reuses this memory for its gradients. The memory of a large bucket is returned.
  if (settings_.frees && !whole_gradient_.is_same(sum_)) settings_.memory->free(whole_gradient_);
  whole_gradient_.reset();
  add_to_part(sum_);
  sum_.reset();
}

/// Memory for the gradient of the part. Pinned memory stays allocated between steps in any case.
at::Tensor FlatGroup::host_gradient(int64_t numel, at::ScalarType type) {
  if (!settings_.host->keeps_memory()) return settings_.host->empty(numel, type);
  if (!host_gradient_.defined()) host_gradient_ = settings_.host->empty(numel, type);
  return host_gradient_;
}

void FlatGroup::add_to_part(const at::Tensor& sum) {
  const bool is_first = !part_gradient_.defined();
  if (settings_.host != nullptr && settings_.replicas->size() == 1) {
    if (is_first) part_gradient_ = host_gradient(sum.numel(), part_.scalar_type());
    settings_.host->bring(sum, part_gradient_, is_first);
  } else if (is_first) {
    part_gradient_ = sum.to(part_.scalar_type());
  } else {
    part_gradient_.add_(sum);
  }
}

void FlatGroup::start_replica_sum() {
  if (settings_.replicas->size() == 1 || !part_gradient_.defined()) return;
  reducing_ = settings_.replicas->all_reduce(part_gradient_, Reduction::kSum, settings_.name);
}

void FlatGroup::finish_replica_sum() {
  if (!reducing_) return;
  reducing_->wait();
  reducing_.reset();
  if (settings_.host == nullptr) return;
  const at::Tensor sum = std::move(part_gradient_);
  part_gradient_ = host_gradient(sum.numel(), sum.scalar_type());
  settings_.host->bring(sum, part_gradient_, /*is_first=*/true);
}

void FlatGroup::clear_gradients() {
  whole_gradient_.reset();
  sum_.reset();
  part_gradient_.reset();
  for (size_t i = 0; i < parameters_.size(); ++i) {
    parameters_[i].named.tensor->mutable_grad().reset();
    parameters_[i].has_arrived = parameters_[i].was_reached = false;
    shards_[i].mutable_grad().reset();
  }
}

at::Tensor FlatGroup::shard_gradient(size_t i) const {
  if (!part_gradient_.defined()) return {};
  return part_gradient_.narrow(0, layout_.place_in_part(i, rank()), shards_[i].numel())
      .view(shards_[i].sizes());
}

}  // namespace s2s
