// s2s-run bench model: times a duplex model on random data, the way tests/benchmark times its peer.

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

#include "config/load_config.h"
#include "plugin/plugin_host.h"
#include "s2s_run/subcommands.h"
#include "train/precision.h"
#include "train/run_folder.h"

namespace s2s::run {
namespace {

using Clock = std::chrono::steady_clock;

struct BenchArguments {
  std::string options_path;
  int64_t steps = 10;
  int threads = 2;
  std::string precision = "32";
  int64_t batch_size = 4;
  double seconds = 10;
};

double seconds_between(Clock::time_point a, Clock::time_point b) {
  return std::chrono::duration<double>(b - a).count();
}

/// Seconds since this process began.
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

/// Noise as audio, random codes, one turn with text in the second half of each row.
Batch random_batch(const BenchArguments& arguments, const Config& options, int64_t rate_hz,
                   double frame_length_s) {
  const auto int_at = [&](const char* path) { return options.find_path(path)->as_int(path); };
  const auto samples = static_cast<int64_t>(arguments.seconds * static_cast<double>(rate_hz));
  const auto frames = static_cast<int64_t>(arguments.seconds / frame_length_s + 0.5);
  const int64_t rows = arguments.batch_size;
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

struct StepTimes {
  std::vector<double> forward, backward, optimizer, whole;
};

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

struct Bench {
  std::unique_ptr<SpeechModel> model;
  std::unique_ptr<Optimizer> optimizer;
  std::unique_ptr<Schedule> schedule;
  std::unique_ptr<ParallelStrategy> strategy;
  Precision precision;
};

Bench build(const Config& options, const Registries& registries, const std::string& precision) {
  Bench bench;
  bench.precision = parse_precision(precision, "--precision");
  BuildContext context;
  context.registries = &registries;
  context.path = "model";
  const auto& component = registries.get<SpeechModel>("duplex_s2s");
  bench.model = component.create(component.translate(options), context);
  bench.model->materialize(at::kCPU, bench.precision.parameter_type, 1);
  const auto named = [](const char* name) {
    Config node = Config::map();
    node["name"] = Config::scalar(name);
    return node;
  };
  Config schedule = named("cosine_annealing");
  schedule["max_steps"] = Config::scalar("1000");
  bench.optimizer = registries.create<Optimizer>(named("adamw"), context);
  bench.schedule = registries.create<Schedule>(schedule, context);
  bench.strategy = registries.create<ParallelStrategy>(named("single"), context);
  auto parameters = bench.model->named_parameters();
  const size_t count = parameters.size();
  bench.optimizer->attach(std::move(parameters), std::vector<double>(count, 1.0));
  return bench;
}

double train_step(Bench& bench, const Batch& batch, double max_norm, int64_t step,
                  StepTimes* times) {
  const auto start = Clock::now();
  bench.model->train(true);
  for (const NamedTensor& p : bench.model->named_parameters()) p.tensor->mutable_grad().reset();
  const auto zeroed = Clock::now();
  LossTerms loss;
  {
    const AutocastScope autocast(bench.precision, at::kCPU);
    loss = bench.model->training_loss(batch, {step, 0});
  }
  const auto forward = Clock::now();
  loss.total.backward();
  const auto backward = Clock::now();
  bench.strategy->clip_grad_norm(*bench.model, max_norm);
  bench.optimizer->step(bench.schedule->learning_rate(step, bench.optimizer->base_learning_rate()));
  const auto done = Clock::now();
  if (times != nullptr) {
    times->forward.push_back(seconds_between(zeroed, forward));
    times->backward.push_back(seconds_between(forward, backward));
    times->optimizer.push_back(seconds_between(start, zeroed) + seconds_between(backward, done));
    times->whole.push_back(seconds_between(start, done));
  }
  return loss.total.item<double>();
}

int run_bench(const BenchArguments& arguments, const Invocation& invocation) {
  at::set_num_threads(arguments.threads);
  const Config options = load_config(arguments.options_path);
  PluginHost host(process_search_inputs(invocation.plugin_paths));
  Registries registries;
  host.install(registries);
  Bench bench = build(options, registries, arguments.precision);
  const Batch batch = random_batch(arguments, options, bench.model->source_sample_rate_hz(),
                                   bench.model->frame_length_s());
  const double max_norm =
      options.find_path("trainer.gradient_clip_val")->as_double("trainer.gradient_clip_val");
  const double first_loss = train_step(bench, batch, max_norm, 0, nullptr);
  const double first_s = process_age_s();
  StepTimes times;
  double last_loss = first_loss;
  for (int64_t step = 1; step <= arguments.steps; ++step) {
    last_loss = train_step(bench, batch, max_norm, step, &times);
  }
  const int64_t train_memory = peak_memory_bytes();
  const auto begin = Clock::now();
  Generation generated;
  {
    const AutocastScope autocast(bench.precision, at::kCPU);
    generated = bench.model->generate(batch.source_audio_BS, batch.source_audio_lens_B, false);
  }
  const double generate_ms = 1000 * seconds_between(begin, Clock::now()) /
                             static_cast<double>(generated.tokens_text_BT.size(1));
  int64_t num_parameters = 0;
  for (const NamedTensor& p : bench.model->named_parameters()) num_parameters += p.tensor->numel();
  const nlohmann::ordered_json result = {
      {"start_to_first_step_s", first_s},
      {"step_s",
       {{"median", median(times.whole)},
        {"min", *std::min_element(times.whole.begin(), times.whole.end())},
        {"all", times.whole}}},
      {"parts_s",
       {{"forward", median(times.forward)},
        {"backward", median(times.backward)},
        {"optimizer", median(times.optimizer)}}},
      {"generate_frame_ms", generate_ms},
      {"peak_memory_bytes", train_memory},
      {"num_parameters", num_parameters},
      {"threads", arguments.threads},
      {"precision", arguments.precision},
      {"losses", {first_loss, last_loss}}};
  std::cout << result.dump() << std::endl;
  return 0;
}

}  // namespace

void setup_bench(CLI::App& app, Invocation& invocation) {
  CLI::App* const bench = app.add_subcommand("bench", "measure");
  bench->require_subcommand(1);
  CLI::App* const model = bench->add_subcommand(
      "model", "time a duplex model of a NeMo options file on random data; one JSON object");
  auto arguments = std::make_shared<BenchArguments>();
  model->add_option("--options", arguments->options_path, "options file (JSON), as reference files")
      ->required();
  model->add_option("--steps", arguments->steps, "timed steps, after a first one")
      ->check(CLI::PositiveNumber);
  model->add_option("--threads", arguments->threads, "threads")->check(CLI::PositiveNumber);
  model->add_option("--precision", arguments->precision, "32, bf16-mixed or bf16-true");
  model->add_option("--batch-size", arguments->batch_size, "rows")->check(CLI::PositiveNumber);
  model->add_option("--seconds", arguments->seconds, "audio of a row, s")
      ->check(CLI::PositiveNumber);
  model->callback([arguments, &invocation] {
    invocation.selected = [arguments, &invocation] { return run_bench(*arguments, invocation); };
  });
}

}  // namespace s2s::run
