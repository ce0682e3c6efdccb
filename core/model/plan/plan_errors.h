#pragma once
// Everything a sharding plan can get wrong; core/docs/internals/sharding.md explains the rules.

#include <cstdint>
#include <string>
#include <vector>

#include "s2s/error.h"
#include "s2s/parallel/plan.h"

namespace s2s::plan_errors {

/// [plan/no-match] a row or unit that matches no module.
Error no_match(const std::string& row, const std::string& nearest);
/// [plan/uncovered] parameters without a row that owns their weight.
Error uncovered(const std::string& parameters);
/// [plan/two-rows] a parameter that several rows own.
Error two_rows(const std::string& parameter, const std::vector<std::string>& rows);
/// [plan/indivisible] a split dim, or a number of the model, that the tensor axis does not divide.
Error indivisible_dim(const std::string& parameter, int64_t dim, int64_t size, int64_t tensor);
/// Whether several ranks may hold the same part, where the axis is larger than the number.
enum class Repeats { kNo, kSwitchedOff, kYes };
Error indivisible_number(const std::string& name, int64_t value, int64_t tensor, Repeats repeats);
/// [plan/repeats] a row that repeats a number which the plan does not have.
Error repeats(const std::string& row, const std::string& name,
              const std::vector<std::string>& divisors);
/// [plan/units] a module that is a unit twice.
Error units(const std::string& module, const std::vector<std::string>& rows);
/// [plan/tied] one tensor under two names that the plan treats differently.
Error tied(const std::string& first, const std::string& first_treatment, const std::string& second,
           const std::string& second_treatment);
/// [mesh/world] a mesh that is not as large as the world.
Error world(const MeshShape& mesh, int64_t world_size);
/// [mesh/size] more ranks than anybody has.
Error mesh_size(double num_ranks, int64_t most);
/// [mesh/axes] a --mesh text that cannot be read.
Error mesh_text(const std::string& text, const std::string& what);

}  // namespace s2s::plan_errors
