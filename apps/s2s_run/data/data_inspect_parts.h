#pragma once
// The parts of `data inspect`.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "loader/cut_batches.h"
#include "s2s_run/data/data_inspect_result.h"
#include "s2s_run/data/data_inspect_source.h"

namespace s2s::run {

struct InspectArguments {
  SourceArguments source;
  std::string tokenizer;
  std::string html;
  bool force = false;  // overwrite the page
  int64_t batch = 0;
  int64_t threads = 0;
  int64_t limit = 0;
  int64_t sample = 0;
  int64_t examples = 8;
  int64_t draw = 100;
  bool no_audio = false;
  bool quiet = false;  // no progress bar, which would be mixed with JSON
  data::BucketOptions buckets;
  std::vector<std::function<void(DuplexDataOptions&)>> data_options;  // the options that were given
};

/// A set and how it is read; all must stay alive. `batches`: of a run, else null.
struct InspectedSet {
  const DataSet& set;
  data::CutBatches* batches;
  const BatchSpec& spec;
  const Tokenizer& tokenizer;
};

/// Reads the set once: report, audio problems and examples.
/// Errors: those of invalid lines, at most 20 together; [data/empty].
void read_set(const InspectArguments& arguments, const InspectedSet& inspected,
              InspectResult& result);

/// Draws token channels: for a run, batch number N of its sampler; for files, their first N cuts.
/// Errors: [usage/arguments] when there are fewer batches.
std::string drawn_batch(const InspectArguments& arguments, const InspectedSet& inspected);

/// The batches of one pass over a run's set. `tokenizer` may be null. Errors: those of the block.
std::unique_ptr<data::CutBatches> open_batches(const DataSet& set, const Tokenizer* tokenizer,
                                               const std::function<void(const std::string&)>& warn);

/// Statistics of the first batches of a run's sampler.
DrawnBatches draw_batches(data::CutBatches& batches, int64_t count);

}  // namespace s2s::run
