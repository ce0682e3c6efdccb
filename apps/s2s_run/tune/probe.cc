// A trial of tune-batch, in a process of its own: real model, strategy and optimizer on one batch.

#include <ATen/ATen.h>
#include <ATen/DeviceAccelerator.h>
#include <ATen/Parallel.h>
#include <sys/resource.h>

#include <iostream>
#include <new>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/machine.h"
#include "base/text.h"
#include "run/run_parts.h"
#include "run/run_processes.h"
#include "s2s/foreign_text.h"
#include "s2s_run/tune/tune_batch.h"

namespace s2s::run {
namespace {

/// The same random batch again and again.
class RandomRows : public DataSource {
 public:
  explicit RandomRows(Batch batch) : batch_(std::move(batch)) {}
  std::optional<Batch> next() override { return batch_; }
  std::string state() const override { return ""; }
  void restore(const std::string&) override {}

 private:
  Batch batch_;
};

/// A field of /proc/self/status, in bytes.
double status_bytes(const std::string& field) {
  std::istringstream status(read_small_file("/proc/self/status", /*max_bytes=*/1 << 16));
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(field + ":")) return 1024 * std::stod(line.substr(field.size() + 1));
  }
  return 0;
}

/// Memory that this process has, or the most that it had. On a CPU this is what RLIMIT_DATA counts,
/// whose peak the system does not keep: that of all addresses, less the ones that are no data.
double own_bytes(at::Device device, bool peak) {
  if (device.is_cpu()) {
    const double data = status_bytes("VmData");
    return peak ? status_bytes("VmPeak") - (status_bytes("VmSize") - data) : data;
  }
  const auto stats = at::accelerator::getDeviceStats(device.index());
  return static_cast<double>(peak ? stats.reserved_bytes[0].peak : stats.reserved_bytes[0].current);
}

void limit_memory(uint64_t bytes) {
  rlimit limit{};
  getrlimit(RLIMIT_DATA, &limit);
  limit.rlim_cur = std::min<rlim_t>(bytes, limit.rlim_max);
  setrlimit(RLIMIT_DATA, &limit);
}

bool is_out_of_memory(const std::exception& error) {
  const std::string what = error.what();
  return dynamic_cast<const std::bad_alloc*>(&error) != nullptr || asked_bytes(what) > 0 ||
         what.find("out of memory") != std::string::npos ||
         what.find("annot allocate memory") != std::string::npos ||
         what.find("Resource temporarily unavailable") != std::string::npos;
}

double largest(Communicator& world, at::Device device, double value) {
  const at::Tensor tensor = at::full({1}, value, at::TensorOptions(device).dtype(at::kDouble));
  if (world.size() > 1) world.all_reduce(tensor, Reduction::kMax, "tune-batch").wait();
  return tensor.cpu().item<double>();
}

void fit_codec_to_noise(Model& model) {
  auto* const speaking = find_capability<HasCodec>(model);
  if (speaking == nullptr || speaking->codec().is_fitted()) return;
  Codec& codec = speaking->codec();
  int clips = 4;
  codec.fit([&]() -> at::Tensor {
    return clips-- > 0 ? at::randn({2 * codec.shape().sample_rate_hz}) * 0.1 : at::Tensor();
  });
}

void train_two_steps(const TuneArguments& arguments, const ProbeBatch& shape,
                     const Invocation& invocation) {
  keep_freed_memory();
  Run setup(arguments.config, RunPurpose::kTrain, invocation);
  const std::unique_ptr<RunProcesses> processes = meet_other_ranks(setup);
  const RunBuilder& builder = setup.builder();
  const at::Device device = builder.device();
  const RunOptions& options = builder.settings();
  if (options.trainer.num_threads) {
    at::set_num_threads(static_cast<int>(*options.trainer.num_threads));
  }
  if (device.is_cpu() && arguments.memory_limit > 0) limit_memory(arguments.memory_limit);
  processes->watched([&] {
    RunParts parts = build_training(setup, *processes, build_strategy(setup, *processes));
    auto& probes = require_capability<MakesProbeBatches>(*parts.model, options.model.type,
                                                         "be tried with random batches");
    parts.data = std::make_unique<RandomRows>(probes.probe_batch(shape));
    fit_codec_to_noise(*parts.model);
    const double model_bytes = own_bytes(device, /*peak=*/false);
    TrainerSettings settings = trainer_settings(builder);
    settings.max_steps = 2;  // the second one has the optimizer's state
    settings.validate_every = 0;
    settings.max_time_s = 0;
    settings.saves = {};
    TrainerParts trained = parts.of_trainer();
    Trainer(settings, trained).run(0);
    const double peak = largest(processes->world(), device, own_bytes(device, /*peak=*/true));
    const double before = largest(processes->world(), device, model_bytes);
    if (processes->is_first()) {
      std::cout << nlohmann::json{{"peak_bytes", peak}, {"model_bytes", before}}.dump()
                << std::endl;
    }
  });
}

}  // namespace

int run_probe(const TuneArguments& arguments, const ProbeBatch& batch,
              const Invocation& invocation) {
  try {
    train_two_steps(arguments, batch, invocation);
    return 0;
  } catch (const std::exception& error) {
    if (!is_out_of_memory(error)) throw;
    // LibTorch's text has a backtrace.
    std::cerr << "out of memory: " << first_line_in(error.what()) << std::endl;
    return kOutOfMemory;
  }
}

}  // namespace s2s::run
