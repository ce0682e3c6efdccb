#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <random>

#include "base/text.h"
#include "s2s_run/data/data_inspect_parts.h"

namespace s2s::run {
namespace {

Error no_batch(int64_t asked, int64_t found) {
  return Error(
      ExitCode::kUsage, "usage/arguments",
      fmt::format("--batch {}: the data set has {} batches; expected the number of one of them",
                  asked, found));
}

/// The rows of a batch, and the cuts that they refer to.
struct Rows {
  data::CutList cuts;
  std::vector<CutSequence> sequences;
};

Rows rows_of(const data::BatchOfCuts& batch, const data::CutBatches& batches) {
  Rows rows;
  for (const data::BatchRow& row : batch.rows) {
    CutSequence sequence;
    sequence.num_frames = row.num_frames;
    for (const data::BatchedCut& part : row.cuts) {
      rows.cuts.push_back(part.cut ? part.cut : batches.make(part.key));
      sequence.parts.push_back({rows.cuts.back().get(), part.first_frame});
    }
    rows.sequences.push_back(std::move(sequence));
  }
  return rows;
}

}  // namespace

std::string drawn_batch(const InspectArguments& arguments, const InspectedSet& inspected) {
  const auto& [set, batches, spec, tokenizer] = inspected;
  Rows rows;
  std::string head;
  if (batches != nullptr) {
    std::optional<data::BatchOfCuts> batch;
    for (int64_t i = 0; i < arguments.batch; ++i) {
      batch = batches->next();
      if (!batch) throw no_batch(arguments.batch, i);
    }
    rows = rows_of(*batch, *batches);
    head = fmt::format("batch {}: {}", arguments.batch,
                       counted(static_cast<int64_t>(rows.sequences.size()), "row"));
    if (batch->bucket >= 0) head += fmt::format(", bucket {}", batch->bucket);
    head += "\n\n";
  } else {
    const auto visit = [&](const Cut& cut) {
      rows.cuts.push_back(std::make_shared<const Cut>(cut));
      rows.sequences.push_back({{{rows.cuts.back().get(), 0}}, 0});
      return std::ssize(rows.cuts) < arguments.batch;
    };
    visit_cuts(
        set, visit, [](const Error& error) -> bool { throw Error(error); },
        [](const std::string&) {});
  }
  return head + data::draw_channels(rows.sequences, spec, tokenizer);
}

DrawnBatches draw_batches(data::CutBatches& batches, int64_t count) {
  DrawnBatches drawn;
  for (int64_t i = 0; i < count; ++i) {
    const auto batch = batches.next();
    if (!batch) break;
    double longest_s = 0;
    const Rows rows = rows_of(*batch, batches);
    for (const auto& cut : rows.cuts) {
      longest_s = std::max(longest_s, cut->duration_s);
      drawn.hours += cut->duration_s / 3600;
    }
    ++drawn.batches;
    ++drawn.by_bucket[batch->bucket];
    drawn.cuts += std::ssize(rows.cuts);
    drawn.padded_hours += static_cast<double>(rows.cuts.size()) * longest_s / 3600;
  }
  return drawn;
}

std::unique_ptr<data::CutBatches> open_batches(
    const DataSet& set, const Tokenizer* tokenizer,
    const std::function<void(const std::string&)>& warn) {
  data::CutBatchesContext context;
  context.path = set.path();
  context.base_dir = set.base_dir();
  context.data = set.data();
  context.seed = set.seed();
  context.tokenizer = tokenizer;
  context.allow_infinite = false;
  context.warn = warn;
  context.draw_entropy = [] { return std::random_device{}(); };
  return data::open_cut_batches(set.block(), context);
}

}  // namespace s2s::run
