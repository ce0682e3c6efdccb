#pragma once
// A graph without a device that has graphs: it records the operators of a piece of work, and calls
// them again with the same tensors. So it repeats what a real graph repeats: what the host computed
// while it recorded stays as it was, and results lie where they lay.

#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <doctest/doctest.h>
#include <torch/library.h>

#include "device/test_device.h"
#include "s2s/kinds/device_kernels.h"

namespace s2s::test {

/// A graph of a device that cannot record the work: it gives up at the third `scatter_`, in the
/// second layer. What was launched until then has not run: results hold zeros. Generators are as
/// they were.
class RefusedGraph : public DeviceGraph {
 public:
  explicit RefusedGraph(int64_t& refusals) : refusals_(refusals) {}

  bool record(const std::function<void()>& work,
              const std::vector<at::Generator>& generators) override {
    std::vector<at::Tensor> states;
    for (at::Generator generator : generators) {
      states.push_back(generator.get_state());
      at::rand({4}, generator, at::TensorOptions(generator.device()));
    }
    {
      const c10::impl::IncludeDispatchKeyGuard recording(
          c10::DispatchKey::TESTING_ONLY_GenericMode);
      current() = this;
      CHECK_THROWS_AS(work(), c10::Error);
      current() = nullptr;
    }
    for (size_t i = 0; i < generators.size(); ++i) {
      at::Generator(generators[i]).set_state(states[i]);
    }
    ++refusals_;
    return false;
  }
  void replay() override { FAIL("nothing was recorded"); }

  /// The dispatcher's function for every operator; false while no such graph records.
  static bool take(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
    if (current() == nullptr) return false;
    const bool writes = op.schema().name() == "aten::scatter_";
    TORCH_CHECK(!writes || ++current()->writes_ < 3, "this operator cannot be recorded");
    op.callBoxed(stack);
    const auto& returns = op.schema().returns();
    for (size_t i = 0; i < returns.size(); ++i) {
      const c10::IValue& value = *(stack->end() - static_cast<std::ptrdiff_t>(returns.size() - i));
      const bool is_new = returns[i].alias_info() == nullptr;
      if (is_new && value.isTensor() && value.toTensor().defined()) value.toTensor().zero_();
    }
    return true;
  }

 private:
  static RefusedGraph*& current() {
    static RefusedGraph* recording = nullptr;
    return recording;
  }

  int64_t& refusals_;
  int64_t writes_ = 0;
};

class RecordedGraph : public DeviceGraph {
 public:
  explicit RecordedGraph(int64_t& replays) : replays_(replays) {}

  /// Runs the work, so the first replay has nothing to do.
  bool record(const std::function<void()>& work, const std::vector<at::Generator>&) override {
    const int64_t waits = host_waits();
    {
      const c10::impl::IncludeDispatchKeyGuard recording(
          c10::DispatchKey::TESTING_ONLY_GenericMode);
      current() = this;
      work();
      current() = nullptr;
    }
    CHECK(host_waits() == waits);
    is_fresh_ = true;
    return true;
  }

  void replay() override {
    ++replays_;
    if (!std::exchange(is_fresh_, false)) {
      for (const Call& call : calls_) repeat(call);
    }
  }

  /// The dispatcher's function for every operator while one records.
  static void take(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
    const c10::impl::ExcludeDispatchKeyGuard not_inside(c10::DispatchKey::TESTING_ONLY_GenericMode);
    if (RefusedGraph::take(op, stack)) return;
    const size_t count = op.schema().arguments().size();
    Call call{op, {stack->end() - static_cast<std::ptrdiff_t>(count), stack->end()}, {}};
    op.callBoxed(stack);
    call.results = {stack->end() - static_cast<std::ptrdiff_t>(op.schema().returns().size()),
                    stack->end()};
    if (current() != nullptr) current()->calls_.push_back(std::move(call));
  }

 private:
  struct Call {
    c10::OperatorHandle op;
    torch::jit::Stack arguments, results;
  };

  static RecordedGraph*& current() {
    static RecordedGraph* recording = nullptr;
    return recording;
  }

  static bool is_of_argument(const at::Tensor& result, const Call& call) {
    for (const c10::IValue& value : call.arguments) {
      if (value.isTensor() && value.toTensor().defined() && result.is_alias_of(value.toTensor())) {
        return true;
      }
    }
    return false;
  }

  static void repeat(const Call& call) {
    torch::jit::Stack stack = call.arguments;
    call.op.callBoxed(stack);
    for (size_t i = 0; i < stack.size(); ++i) {
      if (!call.results[i].isTensor() || is_of_argument(call.results[i].toTensor(), call)) continue;
      call.results[i].toTensor().copy_(stack[i].toTensor());
    }
  }

  int64_t& replays_;
  bool is_fresh_ = false;
  std::vector<Call> calls_;
};

/// Kernels that offer graphs and nothing else.
class GraphKernels : public DeviceKernels {
 public:
  GraphKernels()
      : library_(torch::Library::IMPL, "_", c10::DispatchKey::TESTING_ONLY_GenericMode, __FILE__,
                 __LINE__) {
    library_.fallback(torch::CppFunction::makeFromBoxedFunction<&RecordedGraph::take>());
  }
  std::vector<std::string> operators() const override { return {}; }
  std::unique_ptr<DeviceGraph> make_graph() override {
    ++graphs;
    if (refuses) return std::make_unique<RefusedGraph>(refusals);
    return std::make_unique<RecordedGraph>(replays);
  }
  int64_t graphs = 0, replays = 0, refusals = 0;
  bool refuses = false;

 private:
  torch::Library library_;
};

}  // namespace s2s::test
