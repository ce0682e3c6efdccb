#include "run/replay.h"

#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <cmath>
#include <filesystem>

#include "base/text.h"
#include "checkpoint/checkpoint.h"
#include "config/scalar.h"
#include "run/finite_watch.h"
#include "run/run.h"
#include "run/run_parts.h"
#include "run/run_processes.h"
#include "s2s/foreign_text.h"
#include "s2s/kinds/backbone.h"
#include "train/saved_step.h"
#include "train/saved_step_check.h"
#include "train/train_errors.h"

namespace s2s::run {
namespace {

namespace fs = std::filesystem;

/// Provides only the saved batches.
class SavedBatches : public DataSource {
 public:
  explicit SavedBatches(const SavedStep& saved) : saved_(saved) {}
  std::optional<Batch> next() override {
    if (next_ == saved_.batches.size()) return std::nullopt;
    return saved_.batches[next_++];
  }
  std::string state() const override { return saved_.data_state; }
  void restore(const std::string&) override { next_ = 0; }

 private:
  const SavedStep& saved_;
  size_t next_ = 0;
};

/// Keeps the report of the step.
class LastStep : public RunObserver {
 public:
  void on_step(const StepReport& report) override { step = report; }
  StepReport step;
};

/// The folder with the weights of a saved step. Errors: [run/replay] if it does not exist.
std::string weights_of(const std::string& file, const SavedStep& saved) {
  if (saved.weights.empty())
    throw_no_saved_step(file, "it has no weights: " + saved.weights_problem);
  return (fs::path(file).parent_path() / saved.weights).string();
}

TrainerSettings replay_settings(const RunBuilder& builder, const SavedStep& saved) {
  TrainerSettings settings = trainer_settings(builder);
  settings.max_steps = saved.step + 1;
  settings.accumulate = static_cast<int64_t>(saved.batches.size());
  settings.validate_every = 0;
  settings.saves = {};
  settings.max_time_s = 0;
  settings.save_bad_steps = 0;
  settings.replay = ReplayedRank{saved.data_rank, saved.data_size, saved.frames};
  return settings;
}

bool is_same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

std::string text_of(double value) { return std::isnan(value) ? "nan" : fmt::format("{}", value); }

std::string compared(const std::string& name, double now, double then) {
  return fmt::format("{:<10} {} now, {} then: {}\n", name, text_of(now), text_of(then),
                     is_same(now, then) ? "equal bit for bit" : "different");
}

void print_batches(SavedStep& saved) {
  fmt::print("data:      {}\n", printable_name(saved.data_state));
  for (size_t i = 0; i < saved.batches.size(); ++i) {
    Batch& batch = saved.batches[i];
    fmt::print("batch {}:   {}\n", i + 1, printable(joined(batch.ids, ", ")));
    for (const auto& [name, tensor] : named_tensors(batch)) {
      const std::string fault = tensor->defined() ? fault_of(*tensor) : "";
      if (!fault.empty()) fmt::print("input:     {} is not finite: {}\n", name, fault);
    }
  }
}

/// Prints where the first non-finite value arose.
void print_place(const FiniteWatch& watch, const StepReport& step) {
  const auto& output = watch.first_output();
  const auto& gradient = watch.first_gradient();
  if (output) {
    fmt::print("module:    {}: the first output that is not finite: {}{}\n", output->module,
               output->where,
               output->input_is_finite ? "; its input is finite" : "; nor is its input");
  } else if (!std::isfinite(step.loss)) {
    fmt::print("module:    all outputs are finite, the loss is not: it arises in the losses\n");
  } else if (gradient) {
    fmt::print(
        "module:    {}: the first gradient of an output that is not finite, in the order of "
        "the backward pass: {}\n",
        gradient->module, gradient->where);
  } else if (!std::isfinite(step.grad_norm)) {
    fmt::print(
        "module:    all outputs and their gradients are finite: the gradient of a parameter "
        "is not\n");
  } else {
    fmt::print("module:    all outputs and gradients are finite\n");
  }
}

int64_t vocab_size_of(Model& model) {
  auto* const part = find_capability<HasLanguageModel>(model);
  return part == nullptr ? 0 : part->language_model().shape().vocab_size;
}

/// Runs the step. Tensors of its batches may have any shape, so errors of LibTorch and of
/// containers are errors of the file. Errors: [run/replay].
void run_step(Trainer& trainer, const std::string& file, int64_t step) {
  const auto refuse = [&file](const char* reason) {
    const std::string text = reason;
    for (const char* sign : {"allocate memory", "out of memory", "CUDA error"}) {
      if (text.find(sign) != std::string::npos) throw;
    }
    throw_no_saved_step(file, "the model cannot compute its batches: " +
                                  text.substr(0, std::min<size_t>(text.find('\n'), 300)));
  };
  try {
    trainer.run(step);
  } catch (const c10::Error& error) {
    refuse(error.what_without_backtrace());
  } catch (const std::out_of_range& error) {
    refuse(error.what());
  }
}

}  // namespace

ConfigArguments replay_arguments(const ConfigArguments& given, const std::string& file) {
  const SavedStep saved = read_saved_step(file);
  ConfigArguments arguments = given;
  const bool is_override = given.path.find('=') != std::string::npos && !fs::exists(given.path);
  if (is_override) arguments.overrides.insert(arguments.overrides.begin(), given.path);
  if (given.path.empty() || is_override) {
    arguments.path = (fs::path(weights_of(file, saved)) / "config.yaml").string();
  }
  if (saved.num_ranks > 1) {
    for (const char* word : {"trainer.strategy={name: single}", "trainer.devices=1",
                             "trainer.num_nodes=1", "trainer.elastic_ranks=null"}) {
      arguments.overrides.insert(arguments.overrides.begin(), word);
    }
  }
  return arguments;
}

ExitCode replay_step(const ConfigArguments& arguments, const RunProgram& program,
                     const std::string& file) {
  require_one_process("train --replay");
  SavedStep saved = read_saved_step(file);
  const std::string weights = weights_of(file, saved);
  Run setup(arguments, RunPurpose::kTrain, program, weights);
  const RunBuilder& builder = setup.builder();
  if (const auto threads = builder.settings().trainer.num_threads) {
    at::set_num_threads(static_cast<int>(*threads));
  }
  const RunProcesses processes;
  RunParts parts = build_training(setup, processes, build_strategy(setup, processes), weights,
                                  std::make_unique<SavedBatches>(saved));
  check_saved_step(file, saved, vocab_size_of(*parts.model));
  load_model(weights, *parts.model, parts.strategy->parts(*parts.model));
  parts.strategy->after_update(*parts.model);
  const RunState state =
      load_run_state(weights, *parts.optimizer, parts.strategy->parts(*parts.model));
  Trainer trainer(replay_settings(builder, saved), parts.of_trainer());
  trainer.restore(state.trainer_state);
  LastStep last;
  trainer.add_observer(&last);
  fmt::print("step {}, saved because {}\n", saved.step + 1, saved.reason);
  print_batches(saved);
  const FiniteWatch watch(*parts.model);
  run_step(trainer, file, saved.step);
  fmt::print("{}", compared("loss:", last.step.loss, saved.own_loss));
  // The gradients of other ranks are not available.
  const bool has_norm = saved.num_ranks == 1 && saved.grad_norm != 0;
  if (has_norm) fmt::print("{}", compared("grad_norm:", last.step.grad_norm, saved.grad_norm));
  if (saved.num_ranks > 1) {
    fmt::print("ranks:     this was data rank {} of {}; the loss is its part\n", saved.data_rank,
               saved.data_size);
  }
  if (!saved.weights_problem.empty()) fmt::print("weights:   {}\n", saved.weights_problem);
  print_place(watch, last.step);
  const bool is_equal = is_same(last.step.loss, saved.own_loss) &&
                        (!has_norm || is_same(last.step.grad_norm, saved.grad_norm));
  return is_equal ? ExitCode::kOk : ExitCode::kCheckFailed;
}

}  // namespace s2s::run
