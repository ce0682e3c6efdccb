// Formats the plan report as text.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "plan/mesh.h"
#include "plan/plan_report.h"

namespace s2s {
namespace {

std::string count_text(int64_t count) {
  if (count >= 1'000'000'000) return fmt::format("{:.2f} G", static_cast<double>(count) / 1e9);
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
  const int64_t ranks = mesh.world_size();
  return fmt::format("{} = {} rank{}", mesh_axes_text(mesh), ranks, ranks == 1 ? "" : "s");
}

/// One line: `word` in the first column, the text in the second.
std::string line_of(const char* word, const std::string& text) {
  return fmt::format("{:<11} {}\n", word, text);
}

std::string bytes_text(double bytes) { return bytes_text(static_cast<int64_t>(bytes)); }

/// "all-gather 1.2 kB, reduce-scatter 1.2 kB"; unused kinds are omitted.
std::string kinds_text(const CollectiveBytes& bytes) {
  std::string text;
  for (const auto& [name, size] : {std::pair{"all-gather", bytes.all_gather},
                                   {"reduce-scatter", bytes.reduce_scatter},
                                   {"all-reduce", bytes.all_reduce}}) {
    if (size == 0) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, bytes_text(size));
  }
  return text.empty() ? "none" : text;
}

std::string tensor_text(const PlanReport& report) {
  const Traffic& traffic = report.traffic;
  const std::string activations =
      traffic.tensor_activations
          ? fmt::format("activations {}: {}", bytes_text(*traffic.tensor_activations),
                        kinds_text(traffic.tensor_step))
          : fmt::format("activations, per position of a micro-batch {}: {}",
                        bytes_text(traffic.tensor_per_position.total()),
                        kinds_text(traffic.tensor_per_position));
  return line_of("  tensor", activations) +
         line_of("  tensor", "gradients of replicated weights: all-reduce " +
                                 bytes_text(traffic.tensor_gradients));
}

std::string traffic_text(const PlanReport& report) {
  const Traffic& traffic = report.traffic;
  if (report.settings.mesh.world_size() == 1)
    return line_of("traffic", "0 B: one rank sends nothing");
  std::string text =
      line_of("traffic",
              fmt::format("sent by one rank (it receives as much), estimated for an optimizer step "
                          "of {} micro-batch{}{}",
                          report.step.micro_batches, report.step.micro_batches == 1 ? "" : "es",
                          traffic.total() ? ": " + bytes_text(*traffic.total()) : ""));
  if (report.settings.mesh.shard > 1) {
    text += line_of(
        "  shard", fmt::format("parameters all-gather {}, gradients reduce-scatter {}",
                               bytes_text(traffic.shard_gather), bytes_text(traffic.shard_reduce)));
  }
  if (report.settings.mesh.replicate > 1) {
    text += line_of("  replicate", "gradients all-reduce " + bytes_text(traffic.replicate_reduce));
  }
  if (report.settings.mesh.tensor > 1) text += tensor_text(report);
  for (const std::string& what : traffic.not_counted) text += line_of("  without", what);
  return text;
}

/// "1.20 GB", or the bytes per position while the sequence length is unknown.
std::string saved_text(const SavedBytes& bytes, const StepSize& step) {
  if (step.length > 0) return bytes_text(bytes.at(step.rows, step.length));
  std::string text = bytes_text(bytes.per_position) + " per position";
  if (bytes.per_pair > 0)
    text += fmt::format(" + {} per pair of positions", bytes_text(bytes.per_pair));
  if (bytes.per_mask > 0)
    text += fmt::format(" + {} per pair for the mask", bytes_text(bytes.per_mask));
  if (bytes.fixed > 0) text += " + " + bytes_text(bytes.fixed);
  return text;
}

std::string activations_text(const PlanReport& report) {
  const Activations& activations = report.activations;
  const StepSize& step = report.step;
  const std::string size =
      step.length > 0
          ? fmt::format("{} sequence{} ({}) of {} positions ({})", step.rows,
                        step.rows == 1 ? "" : "s", step.rows_source, step.length,
                        step.length_source)
          : "any number of positions (set --sequence-length and --batch-size for totals)";
  std::string text = line_of("activations", "saved for the backward pass of " + size);
  text += line_of("  all", saved_text(activations.all, step));
  if (activations.num_blocks > 0) {
    text += line_of(
        "  full",
        fmt::format("{} with {} blocks recomputed, plus {} during the recomputation of one block",
                    saved_text(activations.recomputed, step), activations.num_blocks,
                    saved_text(activations.largest_block, step)));
  }
  if (step.length > 0) {
    const auto held = static_cast<double>(report.rank.total());
    const double all = activations.all.at(step.rows, step.length);
    const double full = activations.recomputed.at(step.rows, step.length) +
                        activations.largest_block.at(step.rows, step.length) -
                        static_cast<double>(report.rank.block_copy_bytes);
    text +=
        line_of("  together", fmt::format("with the memory per rank {}, with full recomputation "
                                          "{}",
                                          bytes_text(held + all), bytes_text(held + full)));
  }
  for (const std::string& what : activations.not_counted) text += line_of("  without", what);
  return text;
}

std::string rank_text(const PlanReport& report) {
  const RankCost& rank = report.rank;
  std::string others =
      rank.copy_bytes > 0 ? ", autocast copies " + bytes_text(rank.copy_bytes) : "";
  if (rank.buffer_bytes > 0) others += ", buffers " + bytes_text(rank.buffer_bytes);
  std::string text = line_of(
      "per rank", fmt::format("{} parameters, {} trained: parameters {}, gradients {}, optimizer "
                              "{}{}, total {}",
                              count_text(rank.parameters), count_text(rank.trained),
                              bytes_text(rank.parameter_bytes), bytes_text(rank.gradient_bytes),
                              bytes_text(rank.optimizer_bytes), others, bytes_text(rank.total())));
  if (rank.gathered_bytes > 0) {
    text += line_of("  of which",
                    "at most " + bytes_text(rank.gathered_bytes) +
                        " while the largest unit is unsharded and its gradients are reduced");
  }
  if (rank.host_bytes > 0) {
    text += line_of("  offloaded", bytes_text(rank.host_bytes) + " in CPU memory");
  }
  return text;
}

std::string mesh_line(const PlanReport& report) {
  const MeshShape& mesh = report.settings.mesh;
  std::string text = mesh_text(mesh);
  if (mesh.tensor > 1) {
    text += fmt::format(" (ranks 0-{} are a tensor group; sequence parallelism {})",
                        mesh.tensor - 1, mesh.sequence_parallel ? "on" : "off");
  }
  if (mesh.shard > 1) {
    const char* const split[] = {"", "optimizer state", "optimizer state and gradients",
                                 "parameters, gradients and optimizer state"};
    text += fmt::format("; the shard axis splits {}", split[report.settings.zero_stage]);
  }
  return line_of("mesh", text);
}

}  // namespace

std::string format_plan(const PlanReport& report) {
  size_t width = 6;
  for (const PlanLine& line : report.lines) width = std::max(width, line.module.size());
  for (const PlanBuffers& part : report.buffers) width = std::max(width, part.part.size());
  std::string text =
      fmt::format("{:<{}}  {:<9}  {:<4}  {:<4}  whole -> per rank (tensor {})\n", "module", width,
                  "style", "in", "out", report.settings.mesh.tensor);
  for (const PlanLine& line : report.lines) {
    text += fmt::format("{:<{}}  {:<9}  {:<4}  {:<4}  {}\n", line.module, width, line.style,
                        line.in, line.out, line.text());
  }
  for (const PlanBuffers& part : report.buffers) {
    text += fmt::format("{:<{}}  {:<9}  {:<4}  {:<4}  {} buffer{}, {} elements, whole\n", part.part,
                        width, "replicate", "-", "-", part.tensors, part.tensors == 1 ? "" : "s",
                        part.elements);
  }
  const std::string units =
      report.units.empty() ? "none" : fmt::format("{}", fmt::join(report.units, ", "));
  text += "\n" +
          line_of("units", units + " (sharded units: each is unsharded and resharded as a whole)");
  text += line_of("model", fmt::format("{} parameters ({})", count_text(report.num_parameters),
                                       report.num_parameters));
  return text + rank_text(report) + activations_text(report) + traffic_text(report) +
         mesh_line(report);
}

}  // namespace s2s
