#pragma once
// What a training has opened: its setup, ranks, folder and log.

#include <chrono>

#include "observers/metrics_stream.h"
#include "run/run.h"
#include "run/run_processes.h"
#include "train/run_folder.h"

namespace s2s::run {

struct OpenRun {
  const Run& setup;
  const RunProcesses& processes;
  const RunFolder& folder;
  Console& console;
  Log& log;
  std::chrono::steady_clock::time_point started;
  const MetricsStream* stream = nullptr;  // of rank 0; null: no reader

  double used_time_s() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  }
};

}  // namespace s2s::run
