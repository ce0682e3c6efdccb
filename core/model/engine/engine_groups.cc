// Groups parameters into flat tensors.

#include <ATen/ATen.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "engine/engine.h"
#include "plan/layout_rules.h"
#include "s2s/error.h"

namespace s2s {
namespace {

int64_t bytes_of(const at::Tensor& tensor) {
  return tensor.numel() * static_cast<int64_t>(tensor.element_size());
}

/// Properties that all parameters of a flat tensor share.
using Kind = std::tuple<int64_t, bool, at::ScalarType>;

/// Assigns group numbers to parameters in the model's order. The parameters of a unit share a
/// number. So do the parameters between two units, up to a size limit: gradients that are ready at
/// different times would delay each other in a large group.
class Places {
 public:
  explicit Places(int64_t max_bytes) : max_bytes_(max_bytes) {}
  /// unit: -1 for a parameter outside of any unit.
  int64_t next(int64_t unit, int64_t bytes) {
    if (unit >= 0) {
      num_bytes_ = 0;
      const auto [place, is_new] = of_unit_.emplace(unit, num_);
      if (is_new) ++num_;
      return place->second;
    }
    const bool is_large = num_bytes_ > max_bytes_ / 8 && num_bytes_ + bytes > max_bytes_;
    if (num_bytes_ == 0 || is_large) {
      between_ = num_++;
      num_bytes_ = 0;
    }
    num_bytes_ += bytes;
    return between_;
  }

 private:
  int64_t max_bytes_;
  std::map<int64_t, int64_t> of_unit_;
  int64_t num_ = 0, between_ = -1, num_bytes_ = 0;
};

}  // namespace

/// Groups the parameters. When units are freed: one group per unit, and one for the parameters
/// between two units (separately for each dtype, and for trained and frozen parameters).
/// Otherwise: groups of about settings.bucket_bytes in the model's order. They are filled from the
/// end of the model, where gradients are ready first.
std::vector<std::vector<NamedTensor>> Engine::grouped(const Units& units,
                                                      std::vector<NamedTensor> parameters) const {
  std::vector<std::vector<NamedTensor>> groups;
  if (!frees_units(settings_)) {
    std::reverse(parameters.begin(), parameters.end());
    std::map<Kind, size_t> open;
    std::map<size_t, int64_t> bytes;
    for (NamedTensor& parameter : parameters) {
      const at::Tensor& tensor = *parameter.tensor;
      const Kind kind{0, tensor.requires_grad(), tensor.scalar_type()};
      const auto found = open.find(kind);
      const bool fits =
          found != open.end() && bytes[found->second] + bytes_of(tensor) <= settings_.bucket_bytes;
      if (!fits) {
        open[kind] = groups.size();
        groups.emplace_back();
      }
      bytes[open[kind]] += bytes_of(tensor);
      groups[open[kind]].push_back(std::move(parameter));
    }
    for (auto& group : groups) std::reverse(group.begin(), group.end());
    std::reverse(groups.begin(), groups.end());
    return groups;
  }
  std::map<Kind, std::vector<NamedTensor>> by_place;
  Places places(settings_.bucket_bytes);
  for (NamedTensor& parameter : parameters) {
    const int64_t place =
        places.next(units.of_parameter(parameter.tensor), bytes_of(*parameter.tensor));
    by_place[{place, parameter.tensor->requires_grad(), parameter.tensor->scalar_type()}].push_back(
        std::move(parameter));
  }
  for (auto& [kind, members] : by_place) groups.push_back(std::move(members));
  return groups;
}

CpuOffload& Engine::host(at::Device device) {
  if (!host_) host_ = std::make_unique<CpuOffload>(device);
  return *host_;
}

FlatGroupSettings Engine::group_settings(const NamedTensor& first, int64_t unit) {
  const at::Tensor& tensor = *first.tensor;
  const bool stays_whole = is_replicated(settings_, tensor.requires_grad());
  FlatGroupSettings group;
  group.name = first.name;
  group.gathers = stays_whole ? self_.get() : &groups_of_mesh_.shard_gathers();
  group.reductions = stays_whole ? self_.get() : &groups_of_mesh_.shard();
  group.replicas = &groups_of_mesh_.replicate();
  const bool has_values = values_ == nullptr || values_->any();
  group.data = has_values ? &groups_of_mesh_.data() : self_.get();
  group.values = values_;
  S2S_ASSERT(values_ != nullptr || !tensor.is_meta(), "a meta model comes with its values");
  group.device = tensor.is_meta() ? values_->device() : tensor.device();
  group.memory = memory_.get();
  group.near = near_ranks_.get();
  const bool is_floating = tensor.is_floating_point();
  group.gather_type =
      is_floating ? settings_.param_dtype.value_or(tensor.scalar_type()) : tensor.scalar_type();
  group.reduce_type =
      is_floating ? settings_.reduce_dtype.value_or(group.gather_type) : tensor.scalar_type();
  group.frees = frees_units(settings_) && !stays_whole && unit >= 0;
  if (lives_on_host(settings_, tensor.requires_grad())) group.host = &host(group.device);
  return group;
}

/// The largest size of each parameter on any rank of the tensor axis. Ranks can hold unequal parts
/// of a vocabulary; with these slots, later parameters still have the same offsets on all ranks.
std::vector<int64_t> Engine::slot_numels(const std::vector<NamedTensor>& parameters) const {
  std::vector<int64_t> numels;
  for (const NamedTensor& parameter : parameters) numels.push_back(parameter.tensor->numel());
  if (groups_of_mesh_.tensor().size() == 1) return numels;
  const at::Tensor most = at::tensor(numels, at::kLong).to(world_.device_type());
  groups_of_mesh_.tensor().all_reduce(most, Reduction::kMax, "sizes").wait();
  const at::Tensor here = most.cpu();
  return {here.data_ptr<int64_t>(), here.data_ptr<int64_t>() + here.numel()};
}

void Engine::make_groups(Block& model, const Units& units) {
  for (std::vector<NamedTensor>& members : grouped(units, model.named_parameters())) {
    const std::vector<int64_t> slots = slot_numels(members);
    const int64_t unit = units.of_parameter(members.front().tensor);
    const FlatGroupSettings settings = group_settings(members.front(), unit);
    std::vector<FlatParameter> parameters;
    for (size_t i = 0; i < members.size(); ++i) {
      const TensorPlacement* const share = split_ ? &split_->share(members[i].tensor) : nullptr;
      parameters.push_back({std::move(members[i]), slots[i], share});
    }
    flat_groups_.push_back(std::make_unique<FlatGroup>(std::move(parameters), settings));
    const bool has_root_parameter = std::any_of(
        flat_groups_.back()->parameters().begin(), flat_groups_.back()->parameters().end(),
        [&](const FlatParameter& p) { return units.of_parameter(p.named.tensor) < 0; });
    if (has_root_parameter) root_groups_.push_back(flat_groups_.back().get());
  }
}

std::vector<ScheduledUnit> Engine::scheduled(const Units& units) const {
  std::vector<ScheduledUnit> scheduled(units.all().size());
  for (size_t u = 0; u < scheduled.size(); ++u) {
    scheduled[u].stays = units.all()[u].stays;
    scheduled[u].frees = frees_units(settings_);
  }
  for (const auto& group : flat_groups_) {
    for (const FlatParameter& parameter : group->parameters()) {
      const int64_t unit = units.of_parameter(parameter.named.tensor);
      if (unit < 0) continue;
      std::vector<FlatGroup*>& groups = scheduled[static_cast<size_t>(unit)].groups;
      if (groups.empty() || groups.back() != group.get()) groups.push_back(group.get());
    }
  }
  return scheduled;
}

}  // namespace s2s
