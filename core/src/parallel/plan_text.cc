// The plan's report as text for people.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "parallel/plan_report.h"

namespace s2s {
namespace {

std::string count_text(int64_t count) {
  if (count >= 10'000'000) return fmt::format("{:.0f} M", static_cast<double>(count) / 1e6);
  if (count >= 100'000) return fmt::format("{:.2f} M", static_cast<double>(count) / 1e6);
  return std::to_string(count);
}

std::string bytes_text(int64_t bytes) {
  const double value = static_cast<double>(bytes);
  if (value >= 1e9) return fmt::format("{:.2f} GB", value / 1e9);
  if (value >= 1e6) return fmt::format("{:.1f} MB", value / 1e6);
  if (bytes < 1000) return fmt::format("{} B", bytes);
  return fmt::format("{:.1f} kB", value / 1e3);
}

std::string mesh_text(const MeshShape& mesh) {
  std::string text;
  const auto axis = [&](const char* name, int64_t size, bool always) {
    if (size > 1 || always) text += fmt::format("{}{} {}", text.empty() ? "" : " x ", name, size);
  };
  axis("pipeline", mesh.pipeline, false);
  axis("replicate", mesh.replicate, false);
  axis("shard", mesh.shard, true);
  axis("context", mesh.context, false);
  axis("tensor", mesh.tensor, true);
  return fmt::format("{} = {} ranks", text, mesh.world_size());
}

/// "rank", "shard" or another word in the first column, the text in the second.
std::string line_of(const char* word, const std::string& text) {
  return fmt::format("{:<9} {}\n", word, text);
}

std::string tensor_text(const Traffic& traffic, const StepSize& step) {
  const auto per_position = bytes_text(static_cast<int64_t>(traffic.tensor_per_position));
  const std::string gradients = bytes_text(traffic.tensor_gradients);
  if (!traffic.tensor_activations) {
    return fmt::format(
        "activations {} for each position of a micro-batch, gradients of whole "
        "weights {}",
        per_position, gradients);
  }
  return fmt::format("activations {} ({} for each of {} positions), gradients of whole weights {}",
                     bytes_text(*traffic.tensor_activations), per_position, step.positions,
                     gradients);
}

std::string traffic_text(const PlanReport& report) {
  const Traffic& traffic = report.traffic;
  if (report.mesh.world_size() == 1) return line_of("traffic", "0 B: one rank sends nothing");
  std::string text = line_of(
      "traffic", fmt::format("expected of one rank in an optimizer step of {} micro-batch{}, sent "
                             "(and as much received){}",
                             report.step.micro_batches, report.step.micro_batches == 1 ? "" : "es",
                             traffic.total() ? ": " + bytes_text(*traffic.total()) : ""));
  if (report.mesh.shard > 1) {
    text += line_of(
        "  shard", fmt::format("parameters gathered {}, gradients reduced {}",
                               bytes_text(traffic.shard_gather), bytes_text(traffic.shard_reduce)));
  }
  if (report.mesh.replicate > 1) {
    text += line_of("  replicate", "gradients reduced " + bytes_text(traffic.replicate_reduce));
  }
  if (report.mesh.tensor > 1) text += line_of("  tensor", tensor_text(traffic, report.step));
  for (const std::string& what : traffic.not_counted) text += line_of("  without", what);
  return text;
}

}  // namespace

std::string format_plan(const PlanReport& report) {
  const MeshShape& mesh = report.mesh;
  size_t width = 6;
  for (const PlanLine& line : report.lines) width = std::max(width, line.module.size());
  std::string text = fmt::format("{:<{}}  {:<9}  {:<4}  {:<4}  whole -> per rank (tensor {})\n",
                                 "module", width, "style", "in", "out", mesh.tensor);
  for (const PlanLine& line : report.lines) {
    text += fmt::format("{:<{}}  {:<9}  {:<4}  {:<4}  {}\n", line.module, width, line.style,
                        line.in, line.out, line.text());
  }
  text +=
      fmt::format("\nunits     {} (gathered and freed together on the shard axis)\n",
                  report.units.empty() ? "none" : fmt::format("{}", fmt::join(report.units, ", ")));
  text += fmt::format("model     {} parameters\n", count_text(report.num_parameters));
  const RankCost& rank = report.rank;
  text += fmt::format(
      "per rank  {} parameters, {} trained: parameters {}, gradients {}, optimizer {}, together "
      "{}\n",
      count_text(rank.parameters), count_text(rank.trained), bytes_text(rank.parameter_bytes),
      bytes_text(rank.gradient_bytes), bytes_text(rank.optimizer_bytes),
      bytes_text(rank.parameter_bytes + rank.gradient_bytes + rank.optimizer_bytes));
  text += traffic_text(report);
  text += fmt::format("mesh      {}", mesh_text(mesh));
  if (mesh.tensor > 1) text += fmt::format(" (ranks 0-{} share a tensor group)", mesh.tensor - 1);
  return text + "\n";
}

}  // namespace s2s
