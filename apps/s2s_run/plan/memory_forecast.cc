#include "s2s_run/plan/memory_forecast.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/machine.h"
#include "s2s_run/plan/plan_inputs.h"

namespace s2s::run {

std::string memory_warning(double bytes_of_rank, int64_t ranks_here, double there) {
  const double needed = bytes_of_rank * static_cast<double>(ranks_here);
  if (there <= 0 || needed <= there) return "";
  const std::string ranks = ranks_here == 1 ? ""
                                            : fmt::format(" ({} ranks, {} each)", ranks_here,
                                                          gigabytes_text(bytes_of_rank));
  return fmt::format(
      "[run/memory] parameters, gradients and optimizer state need {}{}, and this machine has {}: "
      "a smaller model, trainer.precision=bf16-true, adapters (model.lora), or more machines that "
      "share it; s2s-run plan CONFIG --layouts counts the bytes",
      gigabytes_text(needed), ranks, gigabytes_text(there));
}

void warn_of_memory(const Config& config, const Registries& registries, const StartedRanks& ranks,
                    std::vector<std::string>& warnings) {
  PlanArguments asked;
  asked.world_size = ranks.all;
  const PlannedRun run(asked, config, registries);
  const PlanReport report = run.report(run.asked_settings(run.asked_mesh()));
  const Config* const devices = config.find_path("trainer.devices");
  const bool says_devices = devices != nullptr && !devices->is_null();
  const int64_t configured = says_devices ? num_devices(*devices).value_or(1) : 1;
  const int64_t ranks_here = ranks.here > 0 ? ranks.here : configured;
  const MachineMemory memory = machine_memory();
  const double there = memory.limit > 0 ? std::min(memory.limit, memory.total) : memory.total;
  const auto held = static_cast<double>(report.rank.total() + report.rank.host_bytes);
  const std::string warning = memory_warning(held, ranks_here, there);
  if (!warning.empty()) warnings.push_back(warning);
}

}  // namespace s2s::run
