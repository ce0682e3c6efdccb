// A test of a few seconds that maths and collectives give right results on this machine.

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <chrono>
#include <sstream>

#include "base/accelerator.h"
#include "base/foreign_json.h"
#include "base/text.h"
#include "plugin/search_path.h"
#include "s2s_run/doctor/child_process.h"
#include "s2s_run/doctor/finding.h"

namespace s2s::run {
namespace {

using Clock = std::chrono::steady_clock;
using nlohmann::json;

constexpr double kSlack_s =
    60;  // for each child: loading CUDA's libraries takes long on some machines
constexpr const char* kNotTested = ": not tested: ";
constexpr const char* kReport =
    "the processor, its memory or a library computes wrong results: run the test again, then test "
    "the memory and exchange the machine";

double since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// Small whole numbers, whose products are exact in float32.
at::Tensor whole_numbers(int64_t rows, int64_t columns) {
  return at::arange(rows * columns, at::kLong).remainder(11).sub(5).view({rows, columns});
}

/// Products of whole numbers equal those of integers, bit for bit.
std::string check_products(at::Device device) {
  const at::Tensor a = whole_numbers(96, 160), b = whole_numbers(160, 64);
  const at::Tensor exact = at::matmul(a, b);
  for (const auto type : {at::kFloat, at::kDouble}) {
    const at::Tensor found = at::matmul(a.to(device, type), b.to(device, type)).to(at::kCPU);
    if (!at::equal(found.to(at::kLong), exact)) {
      return fmt::format("a matrix product in {} is wrong", at::toString(type));
    }
  }
  return "";
}

/// Attention and a convolution against plain formulas in float64.
std::string check_layers(at::Device device) {
  at::manual_seed(1);
  const at::Tensor q = at::randn({2, 4, 33, 16}, at::kDouble);
  const at::Tensor plain = at::matmul(at::softmax(at::matmul(q, q.transpose(2, 3)) / 4, -1), q);
  const at::Tensor fast = at::scaled_dot_product_attention(
      q.to(device, at::kFloat), q.to(device, at::kFloat), q.to(device, at::kFloat));
  const auto attention = (fast.to(at::kCPU, at::kDouble) - plain).abs().max().item<double>();
  if (!(attention < 1e-4)) return fmt::format("attention is off by {:.1e}", attention);
  const at::Tensor x = at::randn({1, 8, 50}, at::kDouble), w = at::randn({6, 8, 3}, at::kDouble);
  const at::Tensor rows = x.unfold(2, 3, 1).permute({0, 2, 1, 3}).reshape({48, 24});
  const at::Tensor expected = at::matmul(rows, w.reshape({6, 24}).t()).t().unsqueeze(0);
  const at::Tensor found = at::conv1d(x.to(device, at::kFloat), w.to(device, at::kFloat));
  const auto convolution = (found.to(at::kCPU, at::kDouble) - expected).abs().max().item<double>();
  return convolution < 1e-3 ? "" : fmt::format("a convolution is off by {:.1e}", convolution);
}

/// The gradient of sum((x w)^2) / 2 is x^T x w.
std::string check_gradient(at::Device device) {
  at::manual_seed(2);
  const at::Tensor x = at::randn({40, 12}, at::kDouble);
  const at::Tensor w = at::randn({12, 5}, at::kDouble);
  at::Tensor trained = w.to(device, at::kFloat).detach().requires_grad_(true);
  at::matmul(x.to(device, at::kFloat), trained).pow(2).sum().div(2).backward();
  const at::Tensor expected = at::matmul(x.t(), at::matmul(x, w));
  const auto error = (trained.grad().to(at::kCPU, at::kDouble) - expected).abs().max();
  const auto largest = error.item<double>();
  return largest < 1e-3 ? "" : fmt::format("a gradient is off by {:.1e}", largest);
}

/// The same product again and again: one thread or core that computes differently is found.
std::string repeat_product(at::Device device, double seconds, double& gigaflops) {
  constexpr int64_t kSize = 512;
  at::manual_seed(3);
  const at::Tensor a = at::randn({kSize, kSize}, at::kFloat).to(device);
  const at::Tensor first = at::matmul(a, a);
  const at::Tensor first_on_host = first.to(at::kCPU);
  const auto begin = Clock::now();
  int64_t count = 0;
  while (since(begin) < seconds) {
    const at::Tensor again = at::matmul(a, a);
    if (++count % 16 == 0 && !at::equal(again.to(at::kCPU), first_on_host)) {
      return "the same matrix product gives different results";
    }
  }
  at::matmul(a, a).to(at::kCPU);
  gigaflops = 2.0 * kSize * kSize * kSize * static_cast<double>(count) / since(begin) / 1e9;
  return "";
}

/// "problem" or "", a tab, and the speed.
std::string test_device(at::Device device, double seconds) {
  double gigaflops = 0;
  std::string problem;
  try {
    problem = check_products(device);
    if (problem.empty()) problem = check_layers(device);
    if (problem.empty()) problem = check_gradient(device);
    if (problem.empty()) problem = repeat_product(device, seconds, gigaflops);
  } catch (const std::exception& error) {
    problem = first_line_in(error.what());
  }
  return fmt::format("{}\t{:.0f}\t{}", problem, gigaflops, at::DeviceTypeName(device.type(), true));
}

/// The finding of a child that tested `name`.
Finding tested(const std::string& name, const ChildAnswer& answer) {
  if (!answer.is_ok() || answer.text.empty()) {
    return {"maths", Level::kError, name + kNotTested + answer.end_text(),
            "LibTorch does not work on this machine: build for its processor and driver"};
  }
  const std::string line = first_line_in(answer.text);
  // 'device' says what to do about it.
  if (line.rfind(kNotTested, 0) == 0) return {"maths", Level::kNote, name + line, ""};
  std::istringstream parts(line);
  std::string problem, speed, device;
  std::getline(parts, problem, '\t');
  std::getline(parts, speed, '\t');
  std::getline(parts, device);
  if (!problem.empty()) {
    return {"maths", Level::kError, fmt::format("{}: {}", device, problem), kReport};
  }
  return {"maths", Level::kOk,
          fmt::format("{}: right results, {} GFLOP/s in float32", device, speed), ""};
}

}  // namespace

std::vector<Finding> maths_findings(double seconds) {
  const bool has_driver = has_accelerator_driver();
  const double each_s = has_driver ? seconds / 2 : seconds;
  std::vector<Finding> out = {tested("cpu", run_in_child(each_s + kSlack_s, [&](const Tell& tell) {
                                       tell(test_device(at::kCPU, each_s));
                                     }))};
  if (!has_driver) return out;
  // In a child of its own, which opens the device before all else: random numbers and the backward
  // pass make LibTorch look for a GPU, and it does not look again.
  const ChildAnswer answer = run_in_child(each_s + kSlack_s, [&](const Tell& tell) {
    std::string why;
    const auto device = open_accelerator(why);
    tell(device ? test_device(*device, each_s) : kNotTested + first_line_in(why));
  });
  out.push_back(tested("GPU", answer));
  return out;
}

std::vector<Finding> collective_findings(const Invocation& invocation) {
  constexpr double kLimit_s = 60;
  std::vector<std::string> words = {this_executable()};
  for (const std::string& path : invocation.plugin_paths) {
    words.insert(words.end(), {"--plugin-path", path});
  }
  words.insert(words.end(),
               {"launch", "local", "-n", "2", "--", "bench", "collectives", "--communicator",
                "gloo", "--size", "65536", "--repeats", "3", "--json"});
  const ChildAnswer answer = run_command(kLimit_s, words);
  const char* const next =
      "s2s-run launch local -n 2 -- bench collectives shows the whole message; see 'network' and "
      "'environment' above";
  const size_t begin = answer.text.find('{');
  const json result = begin == std::string::npos
                          ? json(json::value_t::discarded)
                          : try_parse_foreign_json(std::string_view(answer.text).substr(begin));
  if (!answer.is_ok() || !result.is_object()) {
    const size_t error = answer.text.find("error: ");
    std::string text = error == std::string::npos ? answer.end_text() : answer.text.substr(error);
    return {{"collectives", Level::kError, "two ranks: " + first_line_in(text), next}};
  }
  double reduce_ms = 0;
  for (const json& one : result.value("collectives", json::array())) {
    if (!one.value("right", false)) {
      return {{"collectives", Level::kError,
               one.value("collective", std::string()) + " gives a wrong result", next}};
    }
    if (one.value("collective", std::string()) == "all_reduce")
      reduce_ms = one.value("median_ms", 0.0);
  }
  return {{"collectives", Level::kOk,
           fmt::format("two ranks over gloo: right results, all_reduce of 64 KiB in {:.2f} ms",
                       reduce_ms),
           ""}};
}

}  // namespace s2s::run
