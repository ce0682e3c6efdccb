// s2s-run bench llm: training steps of a language model on one device, with what that device gives
// the parts of a step; tests/benchmark/gpu_peer.py trains the same elsewhere.

#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>
#include <ATen/record_function.h>
#include <fmt/format.h>

#include <atomic>
#include <cerrno>
#include <filesystem>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/io_errors.h"
#include "base/machine.h"
#include "base/moment.h"
#include "benchmark/commands/commands.h"
#include "benchmark/commands/llm_ceilings.h"
#include "benchmark/commands/llm_training.h"
#include "profile/device_trace.h"
#include "s2s/scores/turn_taking.h"
#include "s2s_run/bench/command_ranks.h"
#include "s2s_run/bench/step_profile.h"
#include "s2s_run/columns.h"
#include "s2s_run/new_output.h"
#include "train/device_memory.h"

namespace s2s::run {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

/// Of steps in turn. Units: seconds.
struct LlmTimes {
  std::vector<double> steps;    // the host gives work ahead
  std::vector<double> enqueue;  // the host's part of a step that begins on an idle device
  std::vector<double> waited;   // such a step until the device has done it
  double first_loss = 0, last_loss = 0, first_norm = 0;
  int64_t operators = 0;
  ordered_json peak_bytes;
};

/// The first step, whose loss and gradient a peer is compared with, and further ones that do not
/// count.
void warm_up(LlmTraining& training, int64_t steps, LlmTimes& times) {
  const at::Tensor loss = training.backward(training.forward());
  times.first_loss = loss.item<double>();
  times.first_norm = training.gradient_norm();
  training.update();
  for (int64_t i = 1; i < steps; ++i) training.step();
}

std::atomic<int64_t> g_num_operators;

/// Of a step, with nested ones. Threads of a backward pass inherit the callback.
int64_t count_operators(LlmTraining& training) {
  const auto count = [](const at::RecordFunction&) -> std::unique_ptr<at::ObserverContext> {
    ++g_num_operators;
    return nullptr;
  };
  g_num_operators = 0;
  const auto handle = at::addThreadLocalCallback(
      at::RecordFunctionCallback(count).scopes({at::RecordScope::FUNCTION}));
  training.step();
  at::removeCallback(handle);
  return g_num_operators;
}

LlmTimes time_steps(LlmTraining& training, const BenchLlmArguments& arguments, at::Device device) {
  LlmTimes times;
  warm_up(training, arguments.warm_up, times);
  wait_for_device(device);
  take_device_memory(device);  // starts a new peak
  std::vector<Moment> moments;
  moments.reserve(static_cast<size_t>(arguments.steps) + 1);
  moments.emplace_back(device);
  at::Tensor loss;
  for (int64_t i = 0; i < arguments.steps; ++i) {
    loss = training.step();
    moments.emplace_back(device);
  }
  for (size_t i = 1; i < moments.size(); ++i) {
    times.steps.push_back(moments[i].since(moments[i - 1]));
  }
  times.last_loss = loss.item<double>();
  times.peak_bytes = device_peaks(device);
  times.peak_bytes["resident_peak"] = peak_memory_bytes();
  for (int64_t i = 0; i < arguments.steps; ++i) {
    wait_for_device(device);
    const double begin = now_s(/*processor_time=*/false);
    training.step();
    times.enqueue.push_back(now_s(false) - begin);
    wait_for_device(device);
    times.waited.push_back(now_s(false) - begin);
  }
  times.operators = count_operators(training);
  return times;
}

ordered_json spread_json(const std::vector<double>& seconds) {
  return {{"median", median(seconds)},
          {"p10", percentile(seconds, 10).value()},
          {"p90", percentile(seconds, 90).value()}};
}

ordered_json ceilings_json(const Ceilings& ceilings, double step_s) {
  ordered_json products = ordered_json::array(), passes = ordered_json::array();
  for (const ProductTimes& p : ceilings.products) {
    products.push_back({{"name", p.name},
                        {"rows", p.rows},
                        {"inner", p.inner},
                        {"columns", p.columns},
                        {"per_step", p.per_step},
                        {"forward_teraflops", p.teraflops(p.forward_s)},
                        {"input_gradient_teraflops", p.teraflops(p.input_gradient_s)},
                        {"weight_gradient_teraflops", p.teraflops(p.weight_gradient_s)},
                        {"ms", 1000 * p.sum_s()}});
  }
  const auto share = [&](double bytes, double seconds) {
    return bytes / seconds / ceilings.copy_bytes_per_s;
  };
  for (const PassTimes& p : ceilings.passes) {
    passes.push_back({{"name", p.name},
                      {"forward_ms", 1000 * p.forward_s},
                      {"forward_share_of_copy", share(p.forward_bytes, p.forward_s)},
                      {"backward_ms", 1000 * p.backward_s},
                      {"backward_share_of_copy", share(p.backward_bytes, p.backward_s)}});
  }
  return {{"copy_gigabytes_per_s", 1e-9 * ceilings.copy_bytes_per_s},
          {"square_product",
           {{"size", ceilings.square_size}, {"teraflops", ceilings.square_teraflops}}},
          {"products", products},
          {"attention",
           {{"forward_ms", 1000 * ceilings.attention_forward_s},
            {"both_ways_ms", 1000 * ceilings.attention_s}}},
          {"passes", passes},
          {"attainable_step_s", ceilings.attainable_s},
          {"attainable_share", ceilings.attainable_s / step_s}};
}

/// "cudnn (auto)"
std::string attention_text(const ordered_json& attention) {
  std::string text;
  for (const auto& use : attention["used"]) text += use["kernel"].get<std::string>() + " ";
  return text + "(" + attention["asked"].get<std::string>() + ")";
}

/// "1.2 GB allocated, 1.5 GB reserved; host 0.9 GB resident"
std::string peaks_text(const ordered_json& peaks) {
  const auto text = [&peaks](const char* key) { return gigabytes_text(peaks[key].get<double>()); };
  const std::string resident = text("resident_peak") + " resident";
  if (!peaks.contains("allocated_peak")) return resident;
  return text("allocated_peak") + " allocated, " + text("reserved_peak") + " reserved; host " +
         resident;
}

struct LlmResult {
  const BenchLlmArguments& arguments;
  at::Device device;
  LlmSizes sizes;
  int64_t num_parameters;
  LlmTimes times;
  ordered_json attention;  // before the ceilings are measured
  std::optional<Ceilings> ceilings;

  double step_s() const { return median(times.steps); }
  /// What model FLOPs are held against. 0: not known.
  double peak_teraflops() const {
    if (arguments.peak_teraflops > 0) return arguments.peak_teraflops;
    return ceilings ? ceilings->best_teraflops() : 0;
  }
  ordered_json json() const;
  ordered_json utilization_json() const;
  void print() const;
  void print_ceilings() const;
};

ordered_json LlmResult::utilization_json() const {
  const LlmWork work = llm_work(sizes);
  ordered_json out = {{"teraflops_full", 1e-12 * work.full / step_s()},
                      {"teraflops_causal", 1e-12 * work.causal / step_s()}};
  if (peak_teraflops() == 0) return out;
  out["full"] = 1e-12 * work.full / step_s() / peak_teraflops();
  out["causal"] = 1e-12 * work.causal / step_s() / peak_teraflops();
  out["peak_teraflops"] = peak_teraflops();
  out["peak"] = arguments.peak_teraflops > 0 ? "given" : "fastest measured product";
  return out;
}

ordered_json LlmResult::json() const {
  ordered_json out = {{"model", arguments.preset},
                      {"num_parameters", num_parameters},
                      {"device", device.str()},
                      {"threads", at::get_num_threads()},
                      {"precision", arguments.precision},
                      {"attention", attention},
                      {"recompute", arguments.recompute},
                      {"clip", arguments.clip},
                      {"batch_size", sizes.rows},
                      {"positions", sizes.positions},
                      {"losses", {times.first_loss, times.last_loss}},
                      {"gradient_norm", times.first_norm},
                      {"step_s", spread_json(times.steps)},
                      {"tokens_per_s", static_cast<double>(sizes.tokens()) / step_s()},
                      {"mfu", utilization_json()},
                      {"waited_step_s", spread_json(times.waited)},
                      {"enqueue_s", spread_json(times.enqueue)},
                      {"enqueue_share", median(times.enqueue) / step_s()},
                      {"operators_per_step", times.operators},
                      {"memory_bytes", times.peak_bytes}};
  if (ceilings) out["ceilings"] = ceilings_json(*ceilings, step_s());
  return out;
}

void LlmResult::print() const {
  const ordered_json all = json();
  const ordered_json& mfu = all["mfu"];
  const auto spread = [](const std::vector<double>& seconds) {
    return fmt::format("{:.3f} ms (10 %: {:.3f}, 90 %: {:.3f})", 1000 * median(seconds),
                       1000 * percentile(seconds, 10).value(),
                       1000 * percentile(seconds, 90).value());
  };
  std::vector<std::vector<std::string>> rows = {
      {"model",
       fmt::format("{}, {} parameters, {}", arguments.preset, num_parameters, arguments.precision)},
      {"batch", fmt::format("{} x {} tokens on {}", sizes.rows, sizes.positions, device.str())},
      {"attention", attention_text(attention)},
      {"loss", fmt::format("{:.6f} first, {:.6f} last; gradient norm {:.6f} first",
                           times.first_loss, times.last_loss, times.first_norm)},
      {"step", spread(times.steps)},
      {"tokens", fmt::format("{:.1f} a second", all["tokens_per_s"].get<double>())},
      {"model FLOPs",
       fmt::format("{:.4g} TFLOP/s; with the causal half of attention {:.4g}",
                   mfu["teraflops_full"].get<double>(), mfu["teraflops_causal"].get<double>())}};
  if (peak_teraflops() > 0) {
    rows.push_back(
        {"MFU", fmt::format("{:.1f} %; with the causal half {:.1f} % (of {:.4g} "
                            "TFLOP/s, {})",
                            100 * mfu["full"].get<double>(), 100 * mfu["causal"].get<double>(),
                            peak_teraflops(), mfu["peak"].get<std::string>())});
  }
  if (!device.is_cpu()) {  // where the host and the device are two
    rows.push_back({"with waits", spread(times.waited)});
    rows.push_back(
        {"host", fmt::format("{:.3f} ms to enqueue a step, {:.2f} of its time",
                             1000 * median(times.enqueue), all["enqueue_share"].get<double>())});
  }
  rows.push_back({"operators", fmt::format("{} a step", times.operators)});
  rows.push_back({"peak memory", peaks_text(times.peak_bytes)});
  print_columns(rows);
  if (ceilings) print_ceilings();
}

void LlmResult::print_ceilings() const {
  std::cout << "\nwhat the device gives the parts, one by one:\n" << std::flush;
  std::vector<std::vector<std::string>> rows = {
      {"product", "sizes", "forward", "input gradient", "weight gradient", "a step"}};
  const auto rate = [](double teraflops) { return fmt::format("{:.4g} TFLOP/s", teraflops); };
  for (const ProductTimes& p : ceilings->products) {
    rows.push_back({p.name, fmt::format("{} x {} x {}", p.rows, p.inner, p.columns),
                    rate(p.teraflops(p.forward_s)), rate(p.teraflops(p.input_gradient_s)),
                    rate(p.teraflops(p.weight_gradient_s)),
                    fmt::format("{:.3f} ms", 1000 * static_cast<double>(p.per_step) * p.sum_s())});
  }
  print_columns(rows);
  std::cout << '\n' << std::flush;
  rows = {{"pass", "forward", "of the copy rate", "backward", "of the copy rate"}};
  const ordered_json measured = ceilings_json(*ceilings, step_s());
  for (const auto& p : measured["passes"]) {
    const auto number = [&p](const char* key) { return p[key].get<double>(); };
    rows.push_back({p["name"].get<std::string>(), fmt::format("{:.3f} ms", number("forward_ms")),
                    fmt::format("{:.2f}", number("forward_share_of_copy")),
                    fmt::format("{:.3f} ms", number("backward_ms")),
                    fmt::format("{:.2f}", number("backward_share_of_copy"))});
  }
  print_columns(rows);
  fmt::print(
      "\ncopy {:.1f} GB/s; square product of {} {}; attention of a layer {:.3f} ms\n"
      "products and attention alone: {:.3f} ms, {:.2f} of a step\n",
      1e-9 * ceilings->copy_bytes_per_s, ceilings->square_size, rate(ceilings->square_teraflops),
      1000 * ceilings->attention_s, 1000 * ceilings->attainable_s,
      ceilings->attainable_s / step_s());
}

/// Refuses a timeline's file before the steps, not after them.
void require_writable(const std::string& path, bool force) {
  require_new({path}, force);
  const bool has_folder = fs::is_directory(fs::absolute(path).parent_path());
  if (!has_folder) throw write_error(path, "cannot write", ENOENT);
}

}  // namespace

int bench_llm(const BenchLlmArguments& arguments, const Invocation& invocation) {
  keep_freed_memory();
  if (!arguments.profile_file.empty()) require_writable(arguments.profile_file, arguments.force);
  const at::Device device = bench_device(arguments.device);
  const CommandPlugins plugins(invocation);
  auto training =
      std::make_unique<LlmTraining>(llm_setup(arguments, plugins.host, device), plugins.registries);
  if (!arguments.export_folder.empty()) export_llm_training(*training, arguments);
  LlmResult result{arguments,
                   device,
                   {training->model().shape(), arguments.batch_size, arguments.positions,
                    training->product_type()},
                   training->num_parameters(),
                   time_steps(*training, arguments, device)};
  result.attention = attention_json(arguments.device.attention);
  if (!arguments.profile_file.empty()) {
    write_device_trace(arguments.profile_file, device, [&] { training->step(); });
  }
  training.reset();  // a large model leaves no room for the largest products
  release_device_memory(device);
  if (!arguments.no_ceilings) result.ceilings = measure_ceilings(result.sizes, device);
  if (invocation.json) {
    std::cout << result.json().dump() << std::endl;
  } else {
    result.print();
  }
  return static_cast<int>(ExitCode::kOk);
}

}  // namespace s2s::run
