#pragma once
// The rendezvous of the processes of a run. They connect to the store of rank 0, check that all
// ranks have joined, and compare program and configuration.

#include <c10/util/intrusive_ptr.h>

#include <chrono>
#include <string>
#include <vector>

#include "comm/launch_environment.h"
#include "s2s/kinds/communicator.h"

namespace s2s {

/// A fact that must be equal on all ranks: "program" "0.1.0", "trainer.seed" "42".
struct AgreedFact {
  std::string name;
  std::string value;
};

struct RankIdentity {
  std::string host;
  int64_t process_id = 0;
  int64_t local_rank = 0;
};
std::string to_string(const RankIdentity& identity);  // "node7, process 4711"

struct RendezvousSettings {
  /// Time limit for all ranks to join.
  std::chrono::milliseconds start_timeout{300000};
  std::chrono::milliseconds collective_timeout{600000};
};

class Rendezvous {
 public:
  /// Waits for all ranks. A single process needs no rendezvous and no store. With several
  /// processes, this process then ignores SIGPIPE (outlive_readers()).
  /// Errors: [comm/port-busy], [comm/unreachable], [comm/missing-rank], [comm/duplicate-rank],
  /// [comm/ranks-differ]. They are thrown on all ranks within about start_timeout.
  Rendezvous(const LaunchEnvironment& launch, const std::vector<AgreedFact>& facts,
             const RendezvousSettings& settings);
  /// If rank 0 keeps the store, it waits briefly for the other ranks to leave.
  ~Rendezvous();
  Rendezvous(const Rendezvous&) = delete;
  Rendezvous& operator=(const Rendezvous&) = delete;

  const ProcessPlace& process() const { return process_; }
  /// The identities of all processes, by rank.
  const std::vector<RankIdentity>& identities() const { return identities_; }

 private:
  c10::intrusive_ptr<c10d::Store> store_;
  ProcessPlace process_;
  std::vector<RankIdentity> identities_;
  bool keeps_store_ = false;
};

/// Compares facts[r], the facts of rank r. Returns a line for each fact that is missing or
/// different on some ranks: "trainer.seed: 1 (ranks 0-2), 2 (rank 3)". Returns at most twenty
/// lines. Empty when all agree.
std::vector<std::string> fact_differences(const std::vector<std::vector<AgreedFact>>& facts);

}  // namespace s2s
