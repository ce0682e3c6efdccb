#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/console.h"
#include "base/machine.h"
#include "benchmark/commands/commands.h"
#include "run/run.h"
#include "s2s/foreign_text.h"
#include "s2s/kinds/data_source.h"
#include "s2s_run/bench/command_ranks.h"
#include "s2s_run/data/word_tokenizer.h"
#include "s2s_run/tokenizer/tokenizer_file.h"

namespace s2s::run {
namespace {

using Json = nlohmann::ordered_json;

/// Output of the loader, and timings.
struct Flow {
  int64_t batches = 0;
  int64_t cuts = 0;
  int64_t tokens = 0;       // of text
  double hours = 0;         // user audio
  double padded_hours = 0;  // user audio including padding
  double seconds = 0;
  double waiting_s = 0;  // in DataSource::next
};

template <class T>
void put(Config& block, const char* key, const std::optional<T>& value) {
  if (value) block[key] = Config::scalar(fmt::format("{}", *value));
}

/// The options of the data source. Without a CONFIG: bucketed batches of `cuts`.
Config source_options(const BenchDataArguments& arguments, const DataSet& set) {
  Config block = set.block();
  if (set.setup() == nullptr) {
    block["name"] = Config::scalar("cuts");
    block["shuffle"] = Config::scalar("true");
    block.erase("force_finite");
    if (arguments.batch_duration || !arguments.batch_size) block.erase("batch_size");
    if (!arguments.batch_size) block["batch_duration"] = Config::scalar("120");
    if (!arguments.num_buckets) block["num_buckets"] = Config::scalar("10");
    block["use_bucketing"] = Config::scalar("true");
  }
  put(block, "num_workers", arguments.workers);
  put(block, "batch_duration", arguments.batch_duration);
  put(block, "batch_size", arguments.batch_size);
  put(block, "num_buckets", arguments.num_buckets);
  return block;
}

Config data_block(const BenchDataArguments& arguments, const DataSet& set) {
  Config data = set.data() == nullptr ? Config::map() : *set.data();
  put(data, "source_sample_rate", arguments.source_rate_hz);
  put(data, "target_sample_rate", arguments.target_rate_hz);
  return data;
}

double lengths_sum(const at::Tensor& lengths_B) {
  double sum = 0;
  const at::Tensor as_double = lengths_B.to(at::kDouble).contiguous();
  for (int64_t i = 0; i < as_double.numel(); ++i) sum += as_double.const_data_ptr<double>()[i];
  return sum;
}

void add(const Batch& batch, double rate_hz, Flow& flow) {
  ++flow.batches;
  flow.cuts += batch.size();
  if (!batch.source_audio_BS.defined()) {  // of text
    for (const DocumentSpan& document : batch.documents) flow.tokens += document.length;
    return;
  }
  flow.hours += lengths_sum(batch.source_audio_lens_B) / rate_hz / 3600;
  flow.padded_hours += static_cast<double>(batch.source_audio_BS.numel()) / rate_hz / 3600;
}

/// Reads batches for `seconds`.
Flow measure(DataSource& source, double rate_hz, double seconds, double step_ms) {
  Flow flow;
  const double start_s = monotonic_seconds();
  for (double now_s = start_s; now_s - start_s < seconds;) {
    const double asked_s = now_s;
    const std::optional<Batch> batch = source.next();
    if (!batch) {
      source.restore("");  // restarts a finite set
      continue;
    }
    flow.waiting_s += monotonic_seconds() - asked_s;
    add(*batch, rate_hz, flow);
    if (step_ms > 0) std::this_thread::sleep_for(std::chrono::duration<double>(step_ms / 1000));
    now_s = monotonic_seconds();
    flow.seconds = now_s - start_s;
  }
  return flow;
}

Json as_json(const Flow& flow, double first_batch_s, const Config& block) {
  const Config* const workers = block.find("num_workers");
  return {{"cuts_per_s", static_cast<double>(flow.cuts) / flow.seconds},
          {"audio_hours_per_s", flow.hours / flow.seconds},
          {"waiting_share", flow.waiting_s / flow.seconds},
          {"padding_share", flow.padded_hours > 0 ? 1 - flow.hours / flow.padded_hours : 0},
          {"first_batch_s", first_batch_s},
          {"peak_memory_bytes", peak_memory_bytes()},
          {"batches", flow.batches},
          {"cuts", flow.cuts},
          {"audio_hours", flow.hours},
          {"tokens_per_s", static_cast<double>(flow.tokens) / flow.seconds},
          {"seconds", flow.seconds},
          {"workers", workers == nullptr ? 1 : workers->as_int("num_workers")}};
}

void print_text(const Json& result) {
  if (const double tokens = result["tokens_per_s"]; tokens > 0) {
    fmt::print("{:.0f} tokens/s of text, {:.1f} rows/s, first batch after {:.2f} s\n", tokens,
               result["cuts_per_s"].get<double>(), result["first_batch_s"].get<double>());
    return;
  }
  fmt::print("{:.1f} cuts/s, {:.3f} hours of audio per second, {} workers\n",
             result["cuts_per_s"].get<double>(), result["audio_hours_per_s"].get<double>(),
             result["workers"].get<int64_t>());
  fmt::print("waiting {:.1f} % of the time, padding {:.1f} %, first batch after {:.2f} s\n",
             100 * result["waiting_share"].get<double>(),
             100 * result["padding_share"].get<double>(), result["first_batch_s"].get<double>());
  fmt::print("peak memory {:.0f} MB; {} batches, {} cuts in {:.1f} s\n",
             result["peak_memory_bytes"].get<double>() / 1e6, result["batches"].get<int64_t>(),
             result["cuts"].get<int64_t>(), result["seconds"].get<double>());
}

}  // namespace

int bench_data(const BenchDataArguments& arguments, const Invocation& invocation) {
  keep_freed_memory();
  const DataSet set(arguments.source, invocation);
  std::optional<CommandPlugins> installed;  // without a CONFIG, which names its plugins
  if (set.setup() == nullptr) installed.emplace(invocation);
  const Registries& registries = installed ? installed->registries : set.setup()->registries();
  std::optional<TokenizerFile> file;
  if (!arguments.tokenizer.empty()) file.emplace(invocation, arguments.tokenizer);
  const std::unique_ptr<Tokenizer> own = file ? nullptr : set.tokenizer();
  const WordTokenizer words;
  const Config data = data_block(arguments, set);
  const Config block = source_options(arguments, set);
  DataContext context;
  context.path = set.path();
  context.base_dir = set.base_dir();
  context.seed = set.seed();
  context.tokenizer = file ? &**file : own ? own.get() : &words;
  context.data = &data;
  context.warn = [](const std::string& text) {
    std::fprintf(stderr, "warning: %s\n", printable(text).c_str());
  };
  const double start_s = monotonic_seconds();
  const std::unique_ptr<DataSource> source = registries.create<DataSource>(block, context);
  const Config* const rate = data.find("source_sample_rate");
  const double rate_hz = rate == nullptr ? 16000 : rate->as_double("data.source_sample_rate");
  if (!source->next())
    throw Error(ExitCode::kData, "data/empty", "the data set has no batch; expected at least one");
  const double first_batch_s = monotonic_seconds() - start_s;
  if (arguments.warm_up_s > 0) measure(*source, rate_hz, arguments.warm_up_s, arguments.step_ms);
  const Flow flow = measure(*source, rate_hz, arguments.seconds, arguments.step_ms);
  const Json result = as_json(flow, first_batch_s, block);
  if (invocation.json) {
    std::printf("%s\n", result.dump().c_str());
  } else {
    print_text(result);
  }
  return 0;
}

}  // namespace s2s::run
