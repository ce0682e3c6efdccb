#pragma once
// Flight records: what the ranks of a run last did, and what a comparison of them says about a run
// that failed or hangs. Needs no LibTorch: the launcher reads records, too.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace s2s {

/// One collective as a rank called it.
struct FlownCollective {
  size_t group = 0;      // index into RankFlight::groups
  int64_t sequence = 0;  // 0-based, of the group
  std::string kind;      // "all_reduce"
  std::string name;      // what the caller called it, or ""
  std::string details;   // what has to be the same on all ranks: "sum of 1024 bytes of Float"
  int64_t step = 0;
  std::string phase;
  double started_s = 0;              // Unix time
  std::optional<double> finished_s;  // none: under way
  bool failed = false;
  /// "all_reduce 'loss' (sum of 8 bytes of Double)"
  std::string text() const;
};

struct FlownGroup {
  std::string name;
  std::vector<int64_t> ranks;
  int64_t num_started = 0;
  int64_t num_finished = 0;
};

/// What one rank says.
struct RankFlight {
  int64_t rank = 0;
  int64_t size = 1;
  std::string host;
  int64_t process = 0;
  double written_s = 0;           // Unix time
  std::string reason;             // why it was written
  std::string state = "running";  // "failed", "finished"
  std::string error;              // what ended it, or ""
  int64_t step = 0;               // 1-based; 0: before the first
  std::string phase;              // "forward", ...; "" when nobody said
  double idle_s = 0;              // since the last collective or change of phase
  double halted_s = 0;            // for so long the process did not run at all, in this step
  std::vector<FlownGroup> groups;
  std::vector<FlownCollective> collectives;  // oldest first
  std::vector<RankFlight> silent;            // the last that was heard of ranks that fell silent
};

/// Errors: std::exception when it is no flight record.
RankFlight parse_flight(const std::string& json_text);
std::string to_json_text(const RankFlight& flight, bool is_compact);

/// One thing that is not as it should be.
struct FlightFinding {
  /// silent: nothing was heard; halted: it stood still as a whole, and went on; error: ended by its
  /// own error; differs: another collective or other sizes; finished: ended before the others;
  /// behind: has not come to a collective of others.
  std::string kind;
  std::vector<int64_t> ranks;
  std::string text;
};

struct FlightDiagnosis {
  std::vector<FlightFinding> findings;  // likely causes first
  std::string verdict;                  // one sentence
};

/// flights: of the ranks that said something, any order; those not among them are silent.
FlightDiagnosis diagnose_flights(const std::vector<RankFlight>& flights, int64_t size);

/// "step 3, backward, in all_reduce 'loss' (sum of 8 bytes of Double), number 6 of group data"
std::string position_text(const RankFlight& flight);

}  // namespace s2s
