#pragma once
// Flight records: the last actions of each rank, and a diagnosis of a failed or hanging run from
// the records of all ranks. Uses no LibTorch, because the launcher reads records too.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace s2s {

/// A collective as one rank called it.
struct FlownCollective {
  size_t group = 0;      // index into RankFlight::groups
  int64_t sequence = 0;  // 0-based, counted per group
  std::string kind;      // "all_reduce"
  std::string name;      // the caller's name for it, or ""
  std::string details;   // must be equal on all ranks: "sum of 1024 bytes of Float"
  int64_t step = 0;
  std::string phase;
  double started_s = 0;              // Unix time
  std::optional<double> finished_s;  // not set: not finished
  bool failed = false;
  /// Returns "all_reduce 'loss' (sum of 8 bytes of Double)".
  std::string text() const;
};

struct FlownGroup {
  std::string name;
  std::vector<int64_t> ranks;
  int64_t num_started = 0;
  int64_t num_finished = 0;
};

/// A thread of the process when the record was written.
struct FlownThread {
  int64_t id = 0;
  std::string name;
  std::string state;               // "S (sleeping)" of /proc
  std::vector<std::string> stack;  // innermost function first; empty: the thread gave no answer
};

struct RankFlight {
  int64_t rank = 0;
  int64_t size = 1;
  std::string host;
  int64_t process = 0;
  double written_s = 0;           // Unix time
  std::string reason;             // reason for writing the record
  std::string state = "running";  // "failed", "finished"
  std::string error;              // the error that ended the rank, or ""
  int64_t step = 0;               // 1-based; 0: before the first step
  std::string phase;              // "forward", ...; "" when not set
  double idle_s = 0;              // since the last collective or change of phase
  double halted_s = 0;            // time in this step during which the process did not run at all
  std::vector<FlownGroup> groups;
  std::vector<FlownCollective> collectives;  // oldest first
  std::vector<std::string> batch;            // ids of the step's batch on this rank
  std::vector<FlownThread> threads;          // of a slow step, and of a record on request
  std::vector<RankFlight> silent;            // last records of ranks that stopped reporting
};

/// Errors: std::exception when the text is not a flight record.
RankFlight parse_flight(const std::string& json_text);
std::string to_json_text(const RankFlight& flight, bool is_compact);

struct FlightFinding {
  /// silent: the rank does not report; halted: the whole process was stopped and continued; error:
  /// the rank ended with an error; differs: ranks called different collectives or sizes; finished:
  /// the rank ended before the others; behind: the rank has not called a collective that other
  /// ranks wait in.
  std::string kind;
  std::vector<int64_t> ranks;
  std::string text;
};

struct FlightDiagnosis {
  std::vector<FlightFinding> findings;  // most likely causes first
  std::string verdict;                  // one sentence
};

/// `flights`: records in any order. Ranks without a record count as silent.
FlightDiagnosis diagnose_flights(const std::vector<RankFlight>& flights, int64_t size);

/// Returns "step 3, backward, in all_reduce 'loss' (sum of 8 bytes of Double), number 6 of group
/// data".
std::string position_text(const RankFlight& flight);

}  // namespace s2s
