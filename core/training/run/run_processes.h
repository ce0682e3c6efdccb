#pragma once
// The processes of a run: rendezvous, comparison of their facts, and the communicator.

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "comm/comm_waits.h"
#include "comm/rank0.h"
#include "comm/rendezvous.h"
#include "flight/flight_recorder.h"
#include "plugin/plugin_host.h"
#include "run/run.h"

namespace s2s::run {

/// Converts seconds to whole milliseconds, for a time limit.
inline std::chrono::milliseconds milliseconds(double seconds) {
  return std::chrono::milliseconds(static_cast<int64_t>(seconds * 1000));
}

class RunProcesses {
 public:
  /// Connects the processes. A single process gets a communicator for a group of one.
  /// `facts`: values that must be equal on all ranks, in addition to the program and the loaded
  /// plugins. `communicator`: the options of a component, with its `name`; its plugin is looked up
  /// first. `flight`: settings of this rank's flight recorder.
  /// Errors: those of the rendezvous, of the plugin and of the communicator.
  RunProcesses(const PluginHost& host, const Registries& registries,
               const LaunchEnvironment& launch, const std::vector<AgreedFact>& facts,
               const RendezvousSettings& settings, const Config& communicator,
               const FlightSettings& flight = {});
  /// A run with a single process. Nothing is recorded.
  RunProcesses();
  /// The same with a flight recorder.
  explicit RunProcesses(const FlightSettings& flight);
  ~RunProcesses();

  const LaunchEnvironment& launch() const { return launch_; }
  const Rendezvous& rendezvous() const { return *rendezvous_; }
  Communicator& world() const { return *world_; }
  /// Records the collectives of `world` and of its groups. Null when nothing is recorded.
  FlightRecorder* recorder() const { return recorder_.get(); }
  /// Measures how long this rank waits for the collectives of `world` and of its groups. Null for
  /// a single process.
  CommWaits* waits() const { return waits_.get(); }
  /// Runs `body` and returns its result. When it throws, the other ranks are notified of the error.
  template <class Body>
  auto watched(const Body& body) const {
    try {
      return body();
    } catch (const std::exception& error) {
      if (recorder_) recorder_->failed(error.what());
      throw;
    }
  }
  /// Runs work on rank 0 only.
  Rank0& first() const { return *first_; }
  bool is_first() const { return launch_.rank == 0; }

 private:
  LaunchEnvironment launch_;
  ProcessPlace communicator_place_;               // with the time limit for starting
  c10::intrusive_ptr<c10d::Store> store_of_one_;  // null when there are several processes
  std::unique_ptr<Rendezvous> rendezvous_;
  std::unique_ptr<FlightRecorder> recorder_;
  std::unique_ptr<CommWaits> waits_;
  std::unique_ptr<Communicator> world_;
  std::unique_ptr<Rank0> first_;
};

/// If a launcher started several processes: they meet, compare program and configuration, and are
/// joined by trainer.communicator. `setup` then builds for all of them. A single process has a
/// communicator only if trainer.communicator.name names one. Writes no files. `facts`: further
/// values that must be equal on all ranks. `records_alone`: a single process also has a flight
/// recorder. Errors: those of the rendezvous and the communicator, [comm/mesh] if trainer.devices
/// or num_nodes request another number of ranks, [comm/device].
std::unique_ptr<RunProcesses> meet_other_ranks(Run& setup, std::vector<AgreedFact> facts = {},
                                               bool records_alone = false);

/// For commands that run in one process. Throws [comm/one-process] when a launcher started several.
void require_one_process(const std::string& command);

/// Creates the strategy and checks that its mesh has as many ranks as the run.
/// Errors: those of the strategy, [comm/mesh].
std::unique_ptr<ParallelStrategy> build_strategy(const Run& setup, const RunProcesses& processes);

}  // namespace s2s::run
