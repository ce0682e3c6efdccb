// A trial of tune-batch, in a process of its own: real model, strategy and optimizer on one batch.

#include <ATen/ATen.h>
#include <ATen/DeviceAccelerator.h>
#include <ATen/Parallel.h>
#include <sys/resource.h>

#include <cmath>
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

/// Noise as audio, and one agent turn over nearly the whole row, so that every frame counts.
class RandomRows : public DataSource {
 public:
  RandomRows(SpeechModel& model, ProbeBatch shape) : model_(model), shape_(shape) {}
  std::optional<Batch> next() override {
    Batch batch;
    const int64_t rows = shape_.rows;
    const auto samples_of = [this](int64_t rate_hz) {
      return std::max<int64_t>(1, std::llround(shape_.duration_s * static_cast<double>(rate_hz)));
    };
    const int64_t heard = samples_of(model_.source_sample_rate_hz());
    const int64_t spoken = samples_of(model_.codec().shape().sample_rate_hz);
    batch.source_audio_BS = at::randn({rows, heard}) * 0.1;
    batch.source_audio_lens_B = at::full({rows}, heard, at::kLong);
    batch.target_audio_BS = at::randn({rows, spoken}) * 0.1;
    batch.target_audio_lens_B = at::full({rows}, spoken, at::kLong);
    batch.target_tokens_BT = text_channel();
    batch.target_token_lens_B = at::full({rows}, batch.target_tokens_BT.size(1), at::kLong);
    batch.source_tokens_BT = batch.target_tokens_BT.clone();
    batch.source_token_lens_B = batch.target_token_lens_B.clone();
    batch.ids.assign(static_cast<size_t>(rows), "random");
    return batch;
  }
  std::string state() const override { return ""; }
  void restore(const std::string&) override {}

 private:
  at::Tensor text_channel() const {
    const SpecialIds& ids = model_.tokenizer().special_ids();
    const auto frames = std::max<int64_t>(
        4, static_cast<int64_t>(std::ceil(shape_.duration_s / model_.frame_length_s())));
    const int64_t room = frames - 3;
    const int64_t words = shape_.tokens > 0 ? std::min(shape_.tokens, room) : room;
    at::Tensor tokens = at::full({shape_.rows, frames}, ids.pad, at::kLong);
    tokens.select(1, 1).fill_(ids.bos);
    tokens.narrow(1, 2, words).random_(0, model_.tokenizer().vocab_size());
    tokens.select(1, frames - 1).fill_(ids.eos);
    return tokens;
  }

  SpeechModel& model_;
  ProbeBatch shape_;
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

void fit_codec_to_noise(Codec& codec) {
  if (codec.is_fitted()) return;
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
    parts.data = std::make_unique<RandomRows>(*parts.model, shape);
    fit_codec_to_noise(parts.model->codec());
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
