#pragma once
// The steps of `data inspect`.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "loader/cut_batches.h"
#include "s2s_run/data/data_inspect_result.h"
#include "s2s_run/data/data_inspect_source.h"

namespace s2s::run {

/// Words of the command line.
struct InspectArguments {
  SourceArguments source;
  std::string tokenizer;
  std::string html;
  bool force = false;  // the page may be there
  int64_t batch = 0;
  int64_t threads = 0;
  int64_t limit = 0;
  int64_t sample = 0;
  int64_t examples = 8;
  int64_t draw = 100;
  bool no_audio = false;
  bool quiet = false;  // no progress: its lines would be mixed with JSON
  data::BucketOptions buckets;
  std::vector<std::function<void(DuplexDataOptions&)>> data_options;  // those that were given
};

/// A set, and how it is read; all must live on. `batches`: of a run, null otherwise.
struct InspectedSet {
  const DataSet& set;
  data::CutBatches* batches;
  const BatchSpec& spec;
  const Tokenizer& tokenizer;
};

/// One pass over the set: its report, audio problems and examples.
/// Errors: bad lines, at most 20 together; [data/empty].
void read_set(const InspectArguments& arguments, const InspectedSet& inspected,
              InspectResult& result);

/// Draws token channels: of a run batch number N, as its sampler makes it; of files their first N
/// cuts. Errors: [usage/arguments] when there are not so many batches.
std::string drawn_batch(const InspectArguments& arguments, const InspectedSet& inspected);

/// The batches of a run's set, one pass. `tokenizer` may be null. Errors: those of the block.
std::unique_ptr<data::CutBatches> open_batches(const DataSet& set, const Tokenizer* tokenizer,
                                               const std::function<void(const std::string&)>& warn);

/// What the sampler of a run makes of its first batches.
DrawnBatches draw_batches(data::CutBatches& batches, int64_t count);

}  // namespace s2s::run
