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
    return std::make_unique<RecordedGraph>(replays);
  }
  int64_t graphs = 0, replays = 0;

 private:
  torch::Library library_;
};

}  // namespace s2s::test
