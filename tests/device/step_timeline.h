#pragma once
// The order of what one rank does in its steps: collectives that it starts and waits for, and the
// code of units. Each entry has the stream that was current and how often the host had waited.

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "engine/units.h"
#include "s2s/kinds/communicator.h"
#include "s2s/nn/vocabulary.h"

namespace s2s::test {

enum class StepEvent {
  kStart,       // of a collective
  kWait,        // for a collective begins
  kEnqueued,    // `wait` is over, and the device has not come to the collective yet
  kForward,     // the code of a unit begins
  kForwardEnd,  // and has been given to the device
  kBackward,
  kBackwardEnd
};

class StepTimeline : public BlockHooks, public CollectiveObserver {
 public:
  struct Entry {
    StepEvent event;
    int64_t unit = -1;  // -1: of no unit
    std::string group;  // of a collective
    c10::StreamId stream = 0;
    int64_t host_waits = 0;
  };

  StepTimeline(at::Device device, std::function<int64_t()> host_waits)
      : device_(device), host_waits_(std::move(host_waits)) {}

  /// Between the hooks of `model` and the strategy, which is attached already.
  void watch(Block& model, const ShardPlan& plan) {
    units_ = std::make_unique<Units>(model, plan);
    for (const NamedTensor& parameter : model.named_parameters()) {
      unit_of_name_[parameter.name] = units_->of_parameter(parameter.tensor);
    }
    model.for_each_block([this](const std::string&, Block& block) {
      inner_ = block.hooks();
      block.set_hooks(this);
    });
  }
  int64_t num_units() const { return static_cast<int64_t>(units_->all().size()); }
  const std::vector<Entry>& entries() const { return entries_; }

  at::Tensor call(Block& block, const at::Tensor& x, const Forward& forward) override {
    const int64_t unit = units_->of_block(block);
    const bool is_unit = unit >= 0 && units_->all()[static_cast<size_t>(unit)].module == &block;
    if (!is_unit) return inner_->call(block, x, forward);
    in_forward_.insert(unit);
    const at::Tensor y = inner_->call(block, x, [this, unit, forward](const at::Tensor& given) {
      const bool is_forward = in_forward_.contains(unit);  // else computed again, in the backward
      note(is_forward ? StepEvent::kForward : StepEvent::kBackward, unit);
      const at::Tensor inside = forward(ending_at(given, unit));
      if (is_forward) note(StepEvent::kForwardEnd, unit);
      return beginning_at(inside, unit);
    });
    in_forward_.erase(unit);
    return y;
  }
  void use(Block& block) override { inner_->use(block); }
  const VocabularySplit* vocabulary_split(const Block& block) const override {
    return inner_->vocabulary_split(block);
  }

  void started(const CollectiveRecord& record, const GroupPlace&) override {
    note(StepEvent::kStart, unit_of(record), record.group);
  }
  void waiting(const CollectiveRecord& record) override {
    note(StepEvent::kWait, unit_of(record), record.group);
  }
  void finished(const CollectiveRecord&, bool) override {}
  void enqueued(const CollectiveRecord& record, std::unique_ptr<CollectiveWork>) override {
    note(StepEvent::kEnqueued, unit_of(record), record.group);
  }

 private:
  int64_t unit_of(const CollectiveRecord& record) const {
    const auto found = unit_of_name_.find(record.name);
    return found == unit_of_name_.end() ? -1 : found->second;
  }
  void note(StepEvent event, int64_t unit, const std::string& group = "") {
    const c10::StreamId stream =
        device_.is_cpu() ? 0 : c10::impl::VirtualGuardImpl(device_.type()).getStream(device_).id();
    entries_.push_back({event, unit, group, stream, host_waits_()});
  }
  static bool has_backward(const at::Tensor& x) {
    return x.requires_grad() && at::GradMode::is_enabled();
  }
  /// The unit's backward is over when its input has a gradient.
  at::Tensor ending_at(const at::Tensor& given, int64_t unit) {
    if (!has_backward(given)) return given;
    const at::Tensor x = given.view_as(given);
    x.register_hook(
        [this, unit](const at::Tensor&) -> void { note(StepEvent::kBackwardEnd, unit); });
    return x;
  }
  /// The strategy's hook at the output comes before this one.
  at::Tensor beginning_at(const at::Tensor& y, int64_t unit) {
    if (!has_backward(y)) return y;
    y.register_hook([this, unit](const at::Tensor&) -> void { note(StepEvent::kBackward, unit); });
    return y.view_as(y);
  }

  at::Device device_;
  std::function<int64_t()> host_waits_;
  BlockHooks* inner_ = nullptr;
  std::unique_ptr<Units> units_;
  std::map<std::string, int64_t> unit_of_name_;
  std::set<int64_t> in_forward_;
  std::vector<Entry> entries_;
};

}  // namespace s2s::test
