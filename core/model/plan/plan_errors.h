#pragma once
// Error texts of sharding plans. core/docs/internals/sharding.md explains the rules.

#include <cstdint>
#include <string>
#include <vector>

#include "s2s/error.h"
#include "s2s/parallel/plan.h"

namespace s2s::plan_errors {

/// [plan/no-match] A row or unit matches no module.
Error no_match(const std::string& row, const std::string& nearest);
/// [plan/uncovered] Parameters have no row that owns their weight.
Error uncovered(const std::string& parameters);
/// [plan/two-rows] Several rows own one parameter.
Error two_rows(const std::string& parameter, const std::vector<std::string>& rows);
/// [plan/indivisible] A split dim, or a count of the model, is not divisible by the tensor size.
Error indivisible_dim(const std::string& parameter, int64_t dim, int64_t size, int64_t tensor);
/// Whether several ranks may hold the same part when the axis is larger than the count.
enum class Repeats { kNo, kSwitchedOff, kYes };
Error indivisible_number(const std::string& name, int64_t value, int64_t tensor, Repeats repeats);
/// [plan/repeats] A row replicates a count that the plan does not have.
Error repeats(const std::string& row, const std::string& name,
              const std::vector<std::string>& divisors);
/// [plan/units] A module is a unit twice.
Error units(const std::string& module, const std::vector<std::string>& rows);
/// [plan/tied] The plan treats two names of one tied tensor differently.
Error tied(const std::string& first, const std::string& first_treatment, const std::string& second,
           const std::string& second_treatment);
/// [mesh/world] The mesh size differs from the world size.
Error world(const MeshShape& mesh, int64_t world_size);
/// [mesh/size] The mesh is larger than the maximum.
Error mesh_size(double num_ranks, int64_t most);
/// [mesh/axes] The text of --mesh cannot be parsed.
Error mesh_text(const std::string& text, const std::string& what);

}  // namespace s2s::plan_errors
