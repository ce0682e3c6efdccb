#pragma once
// The processes of a run: met, compared, and joined by a communicator.

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "comm/rank0.h"
#include "comm/rendezvous.h"
#include "flight/flight_recorder.h"
#include "plugin/plugin_host.h"
#include "run/run.h"

namespace s2s::run {

/// Whole milliseconds, for a time limit.
inline std::chrono::milliseconds milliseconds(double seconds) {
  return std::chrono::milliseconds(static_cast<int64_t>(seconds * 1000));
}

class RunProcesses {
 public:
  /// `facts`: what has to be the same on all ranks, beside the program and the plugins loaded so
  /// far. `communicator`: a component's node with its `name`; the plugin is looked up first.
  /// flight: of the recorder that watches over this rank.
  /// Errors: those of the rendezvous, of the plugin and of the communicator.
  RunProcesses(const PluginHost& host, const Registries& registries, const LaunchPlace& place,
               const std::vector<AgreedFact>& facts, const RendezvousSettings& settings,
               const Config& communicator, const FlightSettings& flight = {});
  /// A process alone.
  RunProcesses();

  const LaunchPlace& place() const { return place_; }
  const Rendezvous& rendezvous() const { return *rendezvous_; }
  Communicator& world() const { return *world_; }
  /// Hears of the collectives of `world` and of its groups; null for a process alone.
  FlightRecorder* recorder() const { return recorder_.get(); }
  /// Runs `body`; an error that ends it is told to the other ranks. Returns what it returns.
  template <class Body>
  auto watched(const Body& body) const {
    try {
      return body();
    } catch (const std::exception& error) {
      if (recorder_) recorder_->failed(error.what());
      throw;
    }
  }
  /// Work that rank 0 does alone.
  Rank0& first() const { return *first_; }
  bool is_first() const { return place_.rank == 0; }

 private:
  LaunchPlace place_;
  ProcessPlace communicator_place_;  // with the time limit of the start
  std::unique_ptr<Rendezvous> rendezvous_;
  std::unique_ptr<FlightRecorder> recorder_;
  std::unique_ptr<Communicator> world_;
  std::unique_ptr<Rank0> first_;
};

/// Where a launcher started several processes: they meet, compare program and configuration, and
/// are joined by trainer.communicator; `setup` builds for them from then on. Nothing is written.
/// `facts`: what else has to be the same. Errors: those of the rendezvous and the communicator,
/// [comm/mesh] when trainer.devices or num_nodes ask for others, [comm/device].
std::unique_ptr<RunProcesses> meet_other_ranks(Run& setup, std::vector<AgreedFact> facts = {});

/// For commands that do not share their work: [comm/one-process] under a launcher of several.
void require_one_process(const std::string& command);

/// The strategy, once its mesh was seen to be as large as the ranks are many. Errors: those of the
/// strategy, [comm/mesh].
std::unique_ptr<ParallelStrategy> build_strategy(const Run& setup, const RunProcesses& processes);

}  // namespace s2s::run
