#pragma once
// Submits jobs to SLURM.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace s2s::launch {

/// A random number below 2^31.
uint64_t random_seed();

struct SubmittedJob {
  std::string id;
  std::optional<uint64_t> seed;
};

/// Submits `script` `num_jobs` times with sbatch. Each job starts when the one before it has ended,
/// however it ended. With `draws_seeds`, each gets a random data seed of its own as its first
/// argument. Prints a line for each job. Errors: [launch/sbatch] with what sbatch printed.
std::vector<SubmittedJob> submit_jobs(const std::string& script, int num_jobs, bool draws_seeds);

}  // namespace s2s::launch
