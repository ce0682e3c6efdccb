#pragma once
// How the processes of a run meet before anything else happens: they find the store of rank 0, see
// that all of them are there, and that all are about to do the same.

#include <c10/util/intrusive_ptr.h>

#include <chrono>
#include <string>
#include <vector>

#include "comm/launch_environment.h"
#include "s2s/kinds/communicator.h"

namespace s2s {

/// Something that has to be the same on all ranks: "program" "0.1.0", "trainer.seed" "42".
struct AgreedFact {
  std::string name;
  std::string value;
};

/// One process of the run.
struct RankIdentity {
  std::string host;
  int64_t process_id = 0;
  int64_t local_rank = 0;
};
std::string to_string(const RankIdentity& identity);  // "node7, process 4711"

struct RendezvousSettings {
  /// How long all ranks have to come.
  std::chrono::milliseconds start_timeout{300000};
  /// How long a collective may take.
  std::chrono::milliseconds collective_timeout{600000};
};

class Rendezvous {
 public:
  /// Meets the others. With one process there is nobody to meet, and no store. With several, this
  /// process outlives writing to a rank that closed its connection (outlive_readers()).
  /// Errors: [comm/port-busy], [comm/unreachable], [comm/missing-rank], [comm/duplicate-rank],
  /// [comm/ranks-differ]; on all ranks, and within about start_timeout.
  Rendezvous(const LaunchPlace& place, const std::vector<AgreedFact>& facts,
             const RendezvousSettings& settings);
  /// Rank 0, where it keeps the store, waits a little for the others to leave.
  ~Rendezvous();
  Rendezvous(const Rendezvous&) = delete;
  Rendezvous& operator=(const Rendezvous&) = delete;

  /// For communicators.
  const ProcessPlace& process() const { return process_; }
  /// All processes, by rank.
  const std::vector<RankIdentity>& identities() const { return identities_; }

 private:
  c10::intrusive_ptr<c10d::Store> store_;
  ProcessPlace process_;
  std::vector<RankIdentity> identities_;
  bool keeps_store_ = false;
};

/// facts[r]: those of rank r. A line for each fact that is not there, or not the same, everywhere:
/// "trainer.seed: 1 (ranks 0-2), 2 (rank 3)". At most twenty lines. Empty when all agree.
std::vector<std::string> fact_differences(const std::vector<std::vector<AgreedFact>>& facts);

}  // namespace s2s
