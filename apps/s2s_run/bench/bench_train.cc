// s2s-run bench train: measures the time of the parts of a training step.

#include <ATen/Parallel.h>

#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/machine.h"
#include "run/run_parts.h"
#include "run/run_processes.h"
#include "s2s_run/bench/bench.h"
#include "s2s_run/bench/step_profile.h"

namespace s2s::run {
namespace {

constexpr int64_t kWarmUpSteps = 3;

/// Forwards every call to the configured strategy, and marks times when gradients are done.
class ClockedStrategy : public ParallelStrategy {
 public:
  ClockedStrategy(ParallelStrategy& inner, StepClock& clock) : inner_(inner), clock_(clock) {}
  MeshShape mesh() const override { return inner_.mesh(); }
  int64_t data_rank() const override { return inner_.data_rank(); }
  void attach(Block& model, const ShardPlan& plan) override { inner_.attach(model, plan); }
  void attach_meta(Block& model, const ShardPlan& plan, const InitialValues& values) override {
    inner_.attach_meta(model, plan, values);
  }
  std::vector<NamedTensor> optimizer_parameters(Block& model) override {
    return inner_.optimizer_parameters(model);
  }
  std::vector<LocalShard> parts(Block& model) override { return inner_.parts(model); }
  void begin_step(Block& model) override {
    is_before_forward_ = true;
    inner_.begin_step(model);
  }
  void run_micro_batches(Model& model, const std::vector<Batch>& batches,
                         MicroBatchPasses& passes) override {
    inner_.run_micro_batches(model, batches, passes);
    clock_.mark("subsampling, backward");
  }
  void scale_gradients(Block& model, double factor) override {
    inner_.scale_gradients(model, factor);
    clock_.mark("gradient norm");  // clipping
  }
  void after_update(Block& model) override { inner_.after_update(model); }
  void finish_backward(Block& model) override { inner_.finish_backward(model); }
  at::Tensor grad_norm(Block& model) override {
    at::Tensor norm = inner_.grad_norm(model);
    clock_.mark("gradient norm");
    return norm;
  }
  at::Tensor reduce_over_data(const at::Tensor& values) override {
    if (std::exchange(is_before_forward_, false)) clock_.mark("data");
    return inner_.reduce_over_data(values);
  }
  std::vector<std::string> gather_texts(const std::string& text) override {
    return inner_.gather_texts(text);
  }

 private:
  bool is_before_forward_ = false;
  ParallelStrategy& inner_;
  StepClock& clock_;
};

/// Ends the timing of a step and starts the next one. Warm-up steps are not counted.
class StepEnd : public RunObserver {
 public:
  StepEnd(StepClock& clock, int64_t first_step) : clock_(clock), first_step_(first_step) {}
  void on_phase(int64_t step, TrainingPhase phase) override {
    if (is_in_step_ && phase == TrainingPhase::kReport) {
      clock_.mark("optimizer");
      is_in_step_ = false;
    }
    if (phase != TrainingPhase::kData || step == step_) return;  // each micro-batch has the phase
    step_ = step;
    if (step - first_step_ == kWarmUpSteps) clock_.clear();
    clock_.start();
    is_in_step_ = true;
  }

 private:
  StepClock& clock_;
  int64_t first_step_;
  int64_t step_ = -1;
  bool is_in_step_ = false;
};

}  // namespace

int bench_train(const BenchTrainArguments& arguments, const Invocation& invocation) {
  keep_freed_memory();
  Run setup(arguments.config, RunPurpose::kTrain, invocation);
  const std::unique_ptr<RunProcesses> processes = meet_other_ranks(setup);
  const RunBuilder& builder = setup.builder();
  const RunOptions& options = builder.settings();
  if (options.trainer.num_threads) {
    at::set_num_threads(static_cast<int>(*options.trainer.num_threads));
  }
  const RunParts parts = build_training(setup, *processes, build_strategy(setup, *processes));
  fit_codec_of(parts, builder);

  StepClock clock(parts.model.get(), builder.device(), arguments.processor_time);
  ClockedStrategy strategy(*parts.strategy, clock);
  TrainerSettings settings = trainer_settings(builder);
  settings.max_steps = arguments.from_step + kWarmUpSteps + arguments.steps;
  settings.max_time_s = 0;
  TrainerParts clocked = parts.of_trainer();
  clocked.strategy = &strategy;
  Trainer trainer(settings, clocked);
  StepEnd end(clock, arguments.from_step);
  trainer.add_observer(&end);
  std::unique_ptr<OpProfile> profile;
  if (arguments.ops > 0) profile = std::make_unique<OpProfile>(builder.device());
  trainer.run(arguments.from_step);
  nlohmann::ordered_json result = {{"step_ms", 1000 * median(clock.step_s())},
                                   {"split_ms", split_json(clock)},
                                   {"steps", arguments.steps},
                                   {"threads", at::get_num_threads()},
                                   {"peak_memory_bytes", peak_memory_bytes()}};
  if (profile) {
    result["ops"] = ops_json(*profile, arguments.ops, kWarmUpSteps + arguments.steps);
  }
  if (processes->is_first()) std::cout << result.dump(1) << std::endl;
  return 0;
}

}  // namespace s2s::run
