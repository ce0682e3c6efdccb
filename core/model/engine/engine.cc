#include "engine/engine.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <algorithm>
#include <exception>
#include <map>
#include <numeric>

#include "base/machine.h"
#include "comm/comm_errors.h"
#include "plan/layout_rules.h"
#include "plan/plan_check.h"
#include "s2s/parallel/gradients.h"

namespace s2s {
namespace {

Communicator& given_or(Communicator* world, const std::unique_ptr<Communicator>& alone) {
  return world != nullptr ? *world : *alone;
}

/// Combines each value over `ranks`. All ranks get the same bits. The host waits for nothing.
at::Tensor all_reduced(Communicator& ranks, const at::Tensor& values, Reduction reduction,
                       const char* name) {
  at::Tensor all = values.to(ranks.device_type(), /*non_blocking=*/true, /*copy=*/true);
  ranks.all_reduce(all, reduction, name).wait();
  return all;
}

/// Returns the position in the full parameter of a range of this rank's elements.
std::vector<TensorSpan> spans_of(const FlatRange& held, const TensorPlacement* share) {
  if (held.count == 0) return {};
  if (share == nullptr) return {{held.begin, held.count}};
  std::vector<TensorSpan> spans;
  int64_t begin = 0;  // start of the span among this rank's elements
  for (const TensorSpan& span : share->spans) {
    const int64_t from = std::max(held.begin, begin);
    const int64_t to = std::min(held.begin + held.count, begin + span.count);
    if (from < to) spans.push_back({span.begin + from - begin, to - from});
    begin += span.count;
  }
  return spans;
}

}  // namespace

Engine::Engine(const EngineSettings& settings, Communicator* world)
    : settings_(settings),
      alone_(world == nullptr ? make_solo_communicator({}) : nullptr),
      world_(given_or(world, alone_)),
      groups_of_mesh_(world_, settings_.mesh) {
  self_ = world_.subgroup({world_.rank()}, "self");
  if (world_.size() > 1 && world_.device_type() != at::kCPU) {
    std::vector<int64_t> all(static_cast<size_t>(world_.size()));
    std::iota(all.begin(), all.end(), 0);
    const at::Device device = c10::impl::VirtualGuardImpl(world_.device_type()).getDevice();
    messages_ = std::make_unique<HostMessages>(
        HostMessages{world_.subgroup(all, "hosts"), SideStream(device)});
  }
  if (const int64_t near = near_group_size(settings_)) {
    const std::vector<int64_t> ranks =
        ranks_along(settings_.mesh, world_.rank(), MeshAxes{.shard = true});
    const int64_t first = groups_of_mesh_.position().shard / near * near;
    near_ranks_ = world_.subgroup({ranks.begin() + first, ranks.begin() + first + near}, "near");
  }
}

/// The last update has begun to unshard what is always unsharded, for a step that does not come. A
/// rank that closed its connections now would end the ranks that have yet to begin.
Engine::~Engine() {
  if (std::uncaught_exceptions() > 0) return;
  try {
    for (const auto& group : flat_groups_) group->outdate();
  } catch (const std::exception&) {  // the run is over; it reports a lost rank itself
  }
}

int64_t Engine::data_rank() const { return groups_of_mesh_.position().data(settings_.mesh); }

bool Engine::reduces_now(bool is_last) const {
  return is_last || reduces_every_micro_batch(settings_);
}

void Engine::attach(Block& model, const ShardPlan& plan) {
  const at::NoGradGuard no_grad;
  for (const NamedTensor& buffer : model.named_buffers()) {
    if (!buffer.tensor->defined() || groups_of_mesh_.data().size() == 1) continue;
    groups_of_mesh_.data().broadcast(*buffer.tensor, 0, buffer.name).wait();
  }
  if (settings_.mesh.tensor > 1 || frees_units(settings_)) {
    check_plan(model, plan, {settings_.mesh, world_.size()}).throw_if_any();
  }
  if (settings_.mesh.tensor > 1) {
    split_ = std::make_unique<TensorSplit>(model, plan, groups_of_mesh_);
  }
  const Units units(model, plan);
  make_groups(model, units);
  schedule_ = std::make_unique<UnshardSchedule>(scheduled(units), root_groups_,
                                                settings_.reshard_after_forward);
  std::vector<FlatGroup*> reduced;  // from the last groups of the model to the first
  for (auto group = flat_groups_.rbegin(); group != flat_groups_.rend(); ++group) {
    reduced.push_back(group->get());
  }
  const size_t in_flight = splits_gradients(settings_) ? 1 : flat_groups_.size() + 1;
  flow_ = std::make_unique<GradientReducer>(reduced, units, in_flight);
  schedule_->passed = [this](int64_t unit) { flow_->passed(unit); };
  hooks_ = std::make_unique<EngineHooks>(
      model, plan, units, settings_,
      EngineHooks::Inside{schedule_.get(), flow_.get(), split_.get()});
  return_freed_memory();  // return the memory of the model's original parameters
}

void Engine::attach_meta(Block& model, const ShardPlan& plan, const InitialValues& values) {
  values_ = &values;
  attach(model, plan);
  values_ = nullptr;
}

NamedTensor Engine::shard_of(FlatGroup& group, size_t index) {
  NamedTensor shard = group.parameters()[index].named;
  shard.tensor = &group.shard(index);
  shard.sizes = group.shard(index).sizes().vec();
  return shard;
}

std::vector<NamedTensor> Engine::optimizer_parameters(Block&) {
  std::vector<NamedTensor> shards;
  for (const auto& group : flat_groups_) {
    if (!group->is_trained()) continue;
    for (size_t i = 0; i < group->parameters().size(); ++i) {
      if (group->shard(i).numel() > 0) shards.push_back(shard_of(*group, i));
    }
  }
  return shards;
}

LocalShard Engine::part_of(FlatGroup& group, size_t index) const {
  const MeshPosition& position = groups_of_mesh_.position();
  const bool is_first_replica = position.pipeline + position.replicate + position.context == 0;
  const bool is_split = group.settings().gathers->size() == settings_.mesh.shard;
  const FlatParameter& parameter = group.parameters()[index];
  const TensorPlacement* const share = parameter.share;
  const std::vector<int64_t> own_sizes = parameter.named.tensor->sizes().vec();
  LocalShard part{
      parameter.named.name, share ? share->sizes : own_sizes, {}, group.shard(index).detach()};
  part.spans = spans_of(group.held(index), share);
  part.is_owner = is_first_replica && (is_split || position.shard == 0) &&
                  (share == nullptr || share->is_first_copy);
  return part;
}

std::vector<LocalShard> Engine::parts(Block& model) {
  all_outdated_ = true;
  if (host_) host_->settle();
  std::vector<LocalShard> parts;
  for (const auto& group : flat_groups_) {
    for (size_t i = 0; i < group->parameters().size(); ++i) parts.push_back(part_of(*group, i));
  }
  for (const NamedTensor& buffer : model.named_buffers()) {
    if (!buffer.persistent || !buffer.tensor->defined()) continue;
    parts.push_back(whole_shard(buffer.name, buffer.tensor->detach()));
    parts.back().is_owner = world_.rank() == 0;
  }
  return parts;
}

void Engine::begin_step(Block&) {
  schedule_->end_pass();
  for (const auto& group : flat_groups_) group->clear_gradients();
}

void Engine::begin_micro_batch(Block&, bool is_last) {
  schedule_->end_pass();
  flow_->end_micro_batch();
  schedule_->begin_forward();
  flow_->begin_micro_batch(reduces_now(is_last), is_last);
}

void Engine::finish_backward(Block&) {
  schedule_->end_pass();
  flow_->end_micro_batch();
  flow_->finish_step();
  if (host_) host_->settle();
  share_flags();
  if (split_) sum_partial_gradients();
}

/// Sums gradients of parameters that several tensor ranks hold, when each rank computed only a
/// part.
void Engine::sum_partial_gradients() {
  const at::NoGradGuard no_grad;
  std::vector<Communicator*> order;  // equal on all ranks of the tensor axis
  std::map<Communicator*, std::vector<at::Tensor>> partial;
  for (const auto& group : flat_groups_) {
    for (size_t i = 0; i < group->parameters().size(); ++i) {
      Communicator* const ranks = group->parameters()[i].share->partial;
      const at::Tensor& gradient = group->shard(i).grad();
      if (ranks == nullptr || !gradient.defined() || gradient.numel() == 0) continue;
      if (partial[ranks].empty()) order.push_back(ranks);
      partial[ranks].push_back(gradient.view({-1}));
    }
  }
  for (Communicator* ranks : order) {
    const at::Tensor sum = at::cat(partial[ranks]).to(world_.device_type());
    ranks->all_reduce(sum, Reduction::kSum, "tensor gradients").wait();
    int64_t begin = 0;
    for (const at::Tensor& gradient : partial[ranks]) {
      gradient.copy_(sum.narrow(0, begin, gradient.numel()));
      begin += gradient.numel();
    }
  }
}

/// Exchanges with all ranks which parameters were used, which units ran, and in which order
/// gradients were complete. Then hands out the gradients.
void Engine::share_flags() {
  std::vector<double> flags = schedule_->take_flags();
  const size_t num_units = flags.size();
  for (const auto& group : flat_groups_) {
    for (const FlatParameter& parameter : group->parameters()) {
      flags.push_back(parameter.was_reached ? 1 : 0);
    }
  }
  const std::vector<double> completion = flow_->completion();
  flags.insert(flags.end(), completion.begin(), completion.end());
  const at::Tensor shared =
      reduce_for_hosts(at::tensor(flags, at::kDouble), Reduction::kMax, "flags");
  const double* const reached = shared.const_data_ptr<double>();
  schedule_->expect({reached, reached + num_units});
  size_t next = num_units;
  for (const auto& group : flat_groups_) {
    for (size_t i = 0; i < group->parameters().size(); ++i) {
      if (reached[next++] > 0) group->shard(i).mutable_grad() = group->shard_gradient(i);
    }
  }
  flow_->follow({reached + next, reached + next + completion.size()});
}

std::vector<at::Tensor> Engine::shard_gradients(bool first_copies_only) {
  std::vector<at::Tensor> gradients;
  for (const auto& group : flat_groups_) {
    for (size_t i = 0; i < group->parameters().size(); ++i) {
      const TensorPlacement* const share = group->parameters()[i].share;
      const at::Tensor& gradient = group->shard(i).grad();
      const bool is_wanted = !first_copies_only || share == nullptr || share->is_first_copy;
      if (is_wanted && gradient.defined() && gradient.numel() > 0) gradients.push_back(gradient);
    }
  }
  return gradients;
}

void Engine::scale_gradients(Block&, double factor) {
  std::vector<at::Tensor> gradients = shard_gradients();
  if (!gradients.empty()) at::_foreach_mul_(gradients, factor);
}

at::Tensor Engine::grad_norm(Block&) {
  const at::NoGradGuard no_grad;
  const at::Tensor norm = gradient_norm(shard_gradients(/*first_copies_only=*/true));
  Communicator& ranks = groups_of_mesh_.model();
  if (ranks.size() == 1) return norm;
  const at::Tensor square =
      all_reduced(ranks, norm.square().view({1}), Reduction::kSum, "gradient norm");
  return square.sqrt().squeeze(0).to(norm.device());
}

void Engine::after_update(Block&) {
  for (const auto& group : flat_groups_) {
    if (group->is_trained() || all_outdated_) group->outdate();
  }
  all_outdated_ = false;
  schedule_->outdated();
}

/// Combines numbers that the hosts know and need. They do not wait for their devices' work.
at::Tensor Engine::reduce_for_hosts(const at::Tensor& values, Reduction reduction,
                                    const char* name) {
  if (world_.size() == 1) return values;
  if (!messages_) return all_reduced(world_, values, reduction, name);
  at::Tensor combined;
  messages_->stream.run_ahead(
      [&] { combined = all_reduced(*messages_->ranks, values, reduction, name).cpu(); });
  return combined;
}

at::Tensor Engine::reduce_over_data(const at::Tensor& values) {
  if (world_.size() == 1) return values;
  const auto others = static_cast<double>(world_.size() / settings_.mesh.data_size());
  const at::Tensor sums = values.is_cpu()
                              ? reduce_for_hosts(values, Reduction::kSum, "sum_over_data")
                              : all_reduced(world_, values, Reduction::kSum, "sum_over_data");
  return sums / others;
}

std::vector<std::string> Engine::gather_texts(const std::string& text) {
  Communicator& data = groups_of_mesh_.data();
  return data.size() == 1 ? std::vector<std::string>{text} : all_gather_texts(data, text);
}

}  // namespace s2s
