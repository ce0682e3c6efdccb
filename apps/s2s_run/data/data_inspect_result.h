#pragma once
// The result of `data inspect`, and its output as text, JSON and HTML.

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "duplex/inspect.h"
#include "duplex/turn_findings.h"
#include "s2s/data/duplex_data.h"

namespace s2s::run {

/// Statistics of the batches of a run's sampler.
struct DrawnBatches {
  int64_t batches = 0;
  int64_t cuts = 0;
  double hours = 0;
  double padded_hours = 0;
  std::map<int64_t, int64_t> by_bucket;  // number of batches; -1: no buckets
};

struct InspectResult {
  std::string source;
  std::string kind;
  std::string tokenizer;  // path or component; "": one token per word
  BatchSpec spec;
  bool is_limited = false;  // reading stopped early (--limit or ^C)
  bool stopped = false;     // by ^C
  data::SetReport report;
  bool audio_read = false;
  int64_t cuts_heard = 0;
  std::map<std::string, int64_t> problem_counts;  // by kind
  std::vector<data::AudioProblem> problems;       // the first 10000
  data::TurnReport turns;                         // of the cuts whose audio was read
  data::BatchLimits limits;
  DrawnBatches drawn;
  data::CutList examples;
  std::vector<std::string> warnings;
};

void print_inspect_json(const InspectResult& result);
void print_inspect_text(const InspectResult& result);

/// Writes one self-contained HTML page: tables, histograms, examples with players. Examples with
/// unreadable audio show the error. Errors: [io/write].
void write_inspect_page(const InspectResult& result, const std::string& path);

/// The label of a histogram bin: "1.5-2 s".
std::string bin_label(const data::Histogram& histogram, size_t bin);

/// {"cuts_judged", "cuts_that_fit", "findings": [{"kind", "which", "cuts", "cuts_judged",
/// "seconds", "examples", "text", "advice"}]}.
nlohmann::ordered_json turn_report_json(const data::TurnReport& report);

}  // namespace s2s::run
