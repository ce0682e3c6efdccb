#pragma once
// Runs tasks in forked processes, because flite's voices are shared mutable state.

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace s2s::synth {

using Progress = std::function<void(size_t done, size_t total)>;

/// Calls `task(i)` for every i < `count`, in `num_workers` processes; worker w runs i = w, w +
/// num_workers, ... `start` is called once per process and returns its task. -> the returned texts
/// in order of i, for every number of workers.
/// Errors: those of a task, rethrown here; [synth/worker] when a process dies; [synth/stopped]
/// after SIGINT or SIGTERM, when all workers have ended.
std::vector<std::string> run_in_workers(
    size_t count, size_t num_workers,
    const std::function<std::function<std::string(size_t)>()>& start, const Progress& progress,
    const std::string& place);

}  // namespace s2s::synth
