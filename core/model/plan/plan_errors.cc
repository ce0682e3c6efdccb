#include "plan/plan_errors.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.h"
#include "plan/mesh.h"

namespace s2s::plan_errors {
namespace {

Error plan_error(const char* id, std::string message) {
  return {ExitCode::kConfig, id, std::move(message)};
}

/// Lists tensor sizes that divide `value`, only the smallest when there are many.
std::string sizes_that_work(int64_t value) {
  std::vector<int64_t> sizes;
  for (int64_t size = 1; size <= value && size <= 1024; ++size) {
    if (value % size == 0) sizes.push_back(size);
  }
  const bool are_all = sizes.size() <= 12;
  if (!are_all) sizes.resize(12);
  return fmt::format("{}{}", fmt::join(sizes, ", "), are_all ? "" : ", ...");
}

std::string repeats_text(int64_t value, Repeats repeats) {
  if (repeats == Repeats::kNo) return "";
  const std::string multiples = fmt::format("multiples of {}", value);
  return repeats == Repeats::kYes
             ? fmt::format("; and {}, on which several ranks hold the same one", multiples)
             : fmt::format("; with trainer.strategy.replicate_kv_heads: true also {}", multiples);
}

int64_t largest_that_works(int64_t value, int64_t tensor) {
  int64_t size = tensor;
  while (value % size != 0) --size;
  return size;
}

}  // namespace

Error no_match(const std::string& row, const std::string& nearest) {
  return plan_error("plan/no-match",
                    fmt::format("{} matches no module{}", row,
                                nearest.empty() ? "" : "; nearest: '" + nearest + "'"));
}

Error uncovered(const std::string& parameters) {
  return plan_error(
      "plan/uncovered",
      fmt::format("parameters '{}' have no row; use replicate to keep them whole", parameters));
}

Error two_rows(const std::string& parameter, const std::vector<std::string>& rows) {
  return plan_error("plan/two-rows",
                    fmt::format("parameter '{}' is owned by {} rows: {}; keep one of them",
                                parameter, rows.size(), fmt::join(rows, ", ")));
}

Error indivisible_dim(const std::string& parameter, int64_t dim, int64_t size, int64_t tensor) {
  return plan_error("plan/indivisible",
                    fmt::format("'{}' dim {} = {} is not divisible by tensor_parallel = {}; sizes "
                                "that work: {}",
                                parameter, dim, size, tensor, sizes_that_work(size)));
}

Error indivisible_number(const std::string& name, int64_t value, int64_t tensor, Repeats repeats) {
  return plan_error("plan/indivisible",
                    fmt::format("{} = {} is not divisible by tensor_parallel = {}; largest that "
                                "works: {} (sizes that work: {}{})",
                                name, value, tensor, largest_that_works(value, tensor),
                                sizes_that_work(value), repeats_text(value, repeats)));
}

Error repeats(const std::string& row, const std::string& name,
              const std::vector<std::string>& divisors) {
  return plan_error("plan/repeats",
                    fmt::format("row {} repeats '{}', which the plan does not define; expected one "
                                "of its divisors: {}",
                                row, name, fmt::join(divisors, ", ")));
}

Error units(const std::string& module, const std::vector<std::string>& rows) {
  return plan_error("plan/units",
                    fmt::format("module '{}' is a unit {} times, by the rows {}; a parameter has "
                                "one innermost unit",
                                module, rows.size(), fmt::join(rows, ", ")));
}

Error tied(const std::string& first, const std::string& first_treatment, const std::string& second,
           const std::string& second_treatment) {
  return plan_error("plan/tied",
                    fmt::format("'{}' ({}) and '{}' ({}) are one tensor; give both the same style "
                                "and the same unit",
                                first, first_treatment, second, second_treatment));
}

Error world(const MeshShape& m, int64_t world_size) {
  return plan_error(
      "mesh/world",
      fmt::format("{} = {}, but the world has {}; change an axis, or start {}", mesh_axes_text(m),
                  counted(m.world_size(), "rank"), world_size, counted(m.world_size(), "rank")));
}

Error mesh_size(double num_ranks, int64_t most) {
  return plan_error("mesh/size",
                    fmt::format("a plan of {:.0f} ranks was requested; expected at most {}: see "
                                "--world-size, --mesh, and the sizes in trainer.strategy and "
                                "trainer.devices",
                                num_ranks, most));
}

Error mesh_text(const std::string& text, const std::string& what) {
  return plan_error("mesh/axes",
                    fmt::format("mesh '{}': {}; expected axes as in data=4,tensor=2 (pipeline, "
                                "replicate, shard, data, context, tensor)",
                                text, what));
}

}  // namespace s2s::plan_errors
