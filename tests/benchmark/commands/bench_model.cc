// s2s-run bench model: times a duplex model on random data, as tests/benchmark times its peer.

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <fstream>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/machine.h"
#include "benchmark/commands/commands.h"
#include "config/load_config.h"
#include "nn/operators.h"
#include "profile/device_trace.h"
#include "s2s/kinds/model_capabilities.h"
#include "s2s_run/bench/command_ranks.h"
#include "s2s_run/bench/step_profile.h"
#include "s2s_run/new_output.h"
#include "train/device_memory.h"
#include "train/gradient_update.h"
#include "train/precision.h"

namespace s2s::run {
namespace {

/// Seconds since this process started.
double process_age_s() {
  std::ifstream stat("/proc/self/stat"), uptime("/proc/uptime");
  std::string text((std::istreambuf_iterator<char>(stat)), std::istreambuf_iterator<char>());
  std::istringstream fields(text.substr(text.rfind(')') + 1));
  std::string field;
  for (int i = 0; i < 20; ++i) fields >> field;
  double up_s = 0;
  uptime >> up_s;
  return up_s - std::stod(field) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

/// CPU seconds of all threads of this process.
double process_processor_s() {
  return static_cast<double>(std::clock()) / static_cast<double>(CLOCKS_PER_SEC);
}

/// Noise as audio, random codes, and one turn with text in the second half of each row.
Batch random_batch(const BenchModelArguments& arguments, const Config& options, int64_t rate_hz,
                   double frame_length_s) {
  const auto int_at = [&](const char* path) { return options.find_path(path)->as_int(path); };
  const auto samples = static_cast<int64_t>(arguments.seconds * static_cast<double>(rate_hz));
  const auto frames = static_cast<int64_t>(arguments.seconds / frame_length_s + 0.5);
  const int64_t rows = arguments.batch_size;
  at::manual_seed(1);
  Batch batch;
  batch.source_audio_BS = at::randn({rows, samples}) * 0.1;
  batch.source_audio_lens_B = at::full({rows}, samples, at::kLong);
  batch.codes_BKT = at::randint(int_at("codec.codebook_size"),
                                {rows, int_at("codec.num_codebooks"), frames}, at::kLong);
  batch.code_lens_B = at::full({rows}, frames, at::kLong);
  at::Tensor tokens = at::full({rows, frames}, int_at("tokens.pad"), at::kLong);
  const int64_t begin = frames / 2, end = frames - 4;
  tokens.select(1, begin).fill_(int_at("tokens.bos"));
  tokens.narrow(1, begin + 1, (end - begin) / 3).random_(5, int_at("llm_config.vocab_size"));
  tokens.select(1, end).fill_(int_at("tokens.eos"));
  batch.target_tokens_BT = tokens;
  batch.target_token_lens_B = at::full({rows}, frames, at::kLong);
  return batch;
}

struct Bench {
  std::unique_ptr<DeviceKernels> kernels;  // null on a CPU and where no plugin has some
  std::unique_ptr<Model> model;
  std::unique_ptr<Optimizer> optimizer;
  std::unique_ptr<Schedule> schedule;
  std::unique_ptr<ParallelStrategy> strategy;
  Precision precision;
  double max_norm = 0;
  at::Device device = at::kCPU;
  bool processor_time = false;
  Moment now() const { return Moment(device, processor_time); }
};

Bench build(const Config& options, const Registries& registries,
            const BenchModelArguments& arguments) {
  Bench bench;
  bench.precision = parse_precision(arguments.precision, "--precision");
  bench.device = bench_device(arguments.device);
  bench.processor_time = arguments.processor_time;
  bench.max_norm =
      options.find_path("trainer.gradient_clip_val")->as_double("trainer.gradient_clip_val");
  ModelContext context;
  context.registries = &registries;
  context.path = "--device";
  bench.kernels = make_device_kernels(bench.device.type(), context);
  context.path = "model";
  const auto& component = registries.get<Model>("duplex_s2s");
  Config model = component.translate(options);
  // A step has one batch, so a mean over the batch and one over the step are the same number. Only
  // the step's is known before: to count a batch that is on the device, the host would wait.
  model["loss_normalization"] = Config::scalar("global");
  bench.model = component.create(model, context);
  bench.model->materialize(bench.device, bench.precision.parameter_type, 1);
  bench.optimizer = registries.create<Optimizer>(node_of({{"name", "adamw"}}), context);
  bench.schedule = registries.create<Schedule>(
      node_of({{"name", "cosine_annealing"}, {"max_steps", "1000"}}), context);
  bench.strategy = registries.create<ParallelStrategy>(node_of({{"name", "single"}}), {context});
  auto parameters = bench.model->named_parameters();
  const size_t count = parameters.size();
  bench.optimizer->attach(std::move(parameters), std::vector<double>(count, 1.0));
  return bench;
}

/// The same batch of every step.
struct BenchBatch {
  Batch batch;  // on the device
  BatchWeight weight;
};

/// Returns the loss on the device. `clock`: of its parts, or null.
at::Tensor train_step(Bench& bench, const BenchBatch& batch, int64_t step,
                      StepClock* clock = nullptr) {
  const auto mark = [clock](const char* part) {
    if (clock != nullptr) clock->mark(part);
  };
  if (clock != nullptr) clock->start();
  bench.model->train(true);
  for (const NamedTensor& p : bench.model->named_parameters()) p.tensor->mutable_grad().reset();
  mark("optimizer");
  LossTerms loss;
  {
    const AutocastScope autocast(bench.precision, bench.device.type());
    loss = bench.model->training_loss(batch.batch,
                                      {step, static_cast<double>(batch.weight.normalizer())});
  }
  mark("forward");
  loss.total.backward();
  mark("backward");
  GradientUpdate(*bench.model, *bench.strategy, *bench.optimizer, bench.max_norm)
      .run(bench.schedule->learning_rate(step, bench.optimizer->base_learning_rate()));
  mark("optimizer");
  return loss.total.detach();
}

/// Generates greedily; returns milliseconds per frame of the whole batch, including the encoder.
double generate_ms(Bench& bench, const Batch& batch) {
  const Moment begin = bench.now();
  const AutocastScope autocast(bench.precision, bench.device.type());
  const Generation generated =
      require_capability<AnswersSpeech>(*bench.model, "duplex_s2s", "answer speech")
          .generate(batch.source_audio_BS, batch.source_audio_lens_B, false);
  return 1000 * bench.now().since(begin) / static_cast<double>(generated.tokens_text_BT.size(1));
}

/// What a second trains: frames that the language model sees, text and audio tokens that it
/// predicts, and hours of conversation (each side of it as long).
nlohmann::ordered_json rates_json(const BatchWeight& weight, const BenchModelArguments& arguments,
                                  double step_s) {
  const double hours = static_cast<double>(arguments.batch_size) * arguments.seconds / 3600;
  return {{"frames", static_cast<double>(weight.frames) / step_s},
          {"tokens", static_cast<double>(weight.tokens) / step_s},
          {"audio_hours", hours / step_s}};
}

/// Operators that are repeated as a graph are not seen, so a profiled answer has no graphs.
struct NoGraphs : DeviceKernels {
  std::vector<std::string> operators() const override { return {}; }
};

/// Profiles a few more steps and one generation.
void add_profiles(Bench& bench, const BenchBatch& batch, int64_t count,
                  nlohmann::ordered_json& result) {
  constexpr int64_t kSteps = 3;
  {
    StepClock clock(bench.model.get(), bench.device, bench.processor_time);
    for (int64_t step = 0; step < kSteps; ++step) {
      clock.start();
      train_step(bench, batch, step);
      clock.mark("rest");
    }
    result["split_ms"] = split_json(clock);
  }
  {
    const OpProfile profile(bench.device);
    for (int64_t step = 0; step < kSteps; ++step) train_step(bench, batch, step);
    result["ops"] = ops_json(profile, count, kSteps);
  }
  NoGraphs none;
  offer_graphs(bench.device.type(), none);
  const OpProfile profile(bench.device);
  generate_ms(bench, batch.batch);
  result["generate_ops"] = ops_json(profile, count, 1);
}

}  // namespace

int bench_model(const BenchModelArguments& arguments, const Invocation& invocation) {
  keep_freed_memory();
  if (!arguments.profile_file.empty()) require_writable(arguments.profile_file, arguments.force);
  const Config options = load_config(arguments.options_path);
  const CommandPlugins plugins(invocation);
  // Initial values are drawn with all threads (or OMP_NUM_THREADS): billions take long with two.
  Bench bench = build(options, plugins.registries, arguments);
  at::set_num_threads(arguments.threads);
  auto& speech = require_capability<AnswersSpeech>(*bench.model, "duplex_s2s", "answer speech");
  const Batch drawn =
      random_batch(arguments, options, speech.source_sample_rate_hz(), speech.frame_length_s());
  const BenchBatch batch = {drawn.to(bench.device), bench.model->weigh(drawn)};
  const double first_loss = train_step(bench, batch, 0).item<double>();
  const double first_s = arguments.processor_time ? process_processor_s() : process_age_s();
  take_device_memory(bench.device);  // starts a new peak
  StepClock clock(/*model=*/nullptr, bench.device, arguments.processor_time);
  at::Tensor last_loss;
  for (int64_t step = 1; step <= arguments.steps; ++step) {
    last_loss = train_step(bench, batch, step, &clock);
  }
  wait_for_device(bench.device);
  const std::vector<double> step_s = clock.step_s();
  const auto medians = clock.medians();
  std::map<std::string, double> parts(medians.begin(), medians.end());
  const int64_t train_memory = peak_memory_bytes();
  const nlohmann::ordered_json peaks = device_peaks(bench.device);
  if (!arguments.profile_file.empty()) {
    write_device_trace(arguments.profile_file, bench.device,
                       [&] { train_step(bench, batch, arguments.steps); });
  }
  // The first answer also loads kernels, plans convolutions for its widths and records graphs.
  const double first_answer_ms = generate_ms(bench, batch.batch);
  int64_t num_parameters = 0;
  for (const NamedTensor& p : bench.model->named_parameters()) num_parameters += p.tensor->numel();
  nlohmann::ordered_json result = {{"start_to_first_step_s", first_s},
                                   {"step_s",
                                    {{"median", median(step_s)},
                                     {"min", *std::min_element(step_s.begin(), step_s.end())},
                                     {"all", step_s}}},
                                   {"parts_s",
                                    {{"forward", parts["forward"]},
                                     {"backward", parts["backward"]},
                                     {"optimizer", parts["optimizer"]}}},
                                   {"first_generate_frame_ms", first_answer_ms},
                                   {"generate_frame_ms", generate_ms(bench, batch.batch)},
                                   {"peak_memory_bytes", train_memory},
                                   {"num_parameters", num_parameters},
                                   {"threads", arguments.threads},
                                   {"precision", arguments.precision},
                                   {"attention", attention_json(arguments.device.attention)},
                                   {"losses", {first_loss, last_loss.item<double>()}},
                                   {"device", bench.device.str()},
                                   {"per_s", rates_json(batch.weight, arguments, median(step_s))}};
  if (!peaks.empty()) result["device_memory_bytes"] = peaks;
  if (arguments.ops > 0) add_profiles(bench, batch, arguments.ops, result);
  std::cout << result.dump(arguments.ops > 0 ? 1 : -1) << std::endl;
  return 0;
}

}  // namespace s2s::run
