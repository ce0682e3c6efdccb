#pragma once
// The data source `cuts`: batches of a set of cuts, which threads load ahead.

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "loader/bad_cuts.h"
#include "loader/batch_order.h"
#include "loader/dataset_options.h"
#include "loader/loading_pool.h"
#include "loader/row_loader.h"
#include "loader/source_state.h"
#include "s2s/data/cut_source.h"
#include "s2s/data/duplex_data.h"
#include "s2s/kinds/data_source.h"

namespace s2s::data {

/// Where a source gets its cuts and their audio from.
struct SourceParts {
  std::function<std::unique_ptr<CutBatches>(const CutBatchesContext&)> open;
  std::unique_ptr<AudioLoader> audio;
  std::shared_ptr<const RowKind> kind = {};  // null: batches for the duplex model
};

class CutsSource : public DataSource {
 public:
  /// Opens and checks the set. Errors: those of `parts.open` and of check_set, [data/no-tokenizer].
  CutsSource(const CutsSourceOptions& options, const BatchSpec& spec, const DataContext& context,
             SourceParts parts);

  std::optional<Batch> next() override;
  std::string state() const override;
  void restore(const std::string& state) override;
  std::vector<std::string> texts() override;
  std::vector<std::string> left_out() const override { return bad_cuts_.lines(); }

 private:
  void open();
  void check();
  LoadingPool& pool();
  std::optional<LoadedBatch> pull();
  Batch replacement();
  void reopen_for(const SourceState& state);
  Snapshot plan_for_new_ranks(const SourceState& state);
  void go_to(Snapshot from, int64_t begin);
  Snapshot snapshot() const;

  CutsSourceOptions options_;
  BatchSpec spec_;
  CutBatchesContext context_;
  const Tokenizer& tokenizer_;
  DataAxis axis_;
  uint64_t entropy_;
  bool uses_entropy_ = false;
  int64_t restarts_ = 0;  // number of restarts that asked for another order
  BadCuts bad_cuts_;
  UnreadCuts unread_;
  std::vector<BadCut> unread_at_open_;  // found while files were opened, and reported at once

  SourceParts parts_;
  std::unique_ptr<CutBatches> batches_;
  std::unique_ptr<BatchAugmenter> augmenter_;  // null: batches are not changed
  std::unique_ptr<RowLoader> loader_;

  int64_t position_ = 0;  // number of batches that all data ranks together were given
  int64_t epoch_ = 0;     // of the last batch that rank 0 was given
  Snapshot from_;         // position of `batches_` when `pool_` was opened
  std::unique_ptr<BatchOrder> order_;
  std::deque<LoadedBatch> held_;  // taken from the pool, but not returned yet
  /// The last member, so that its threads end before the members that they use.
  std::unique_ptr<LoadingPool> pool_;
};

}  // namespace s2s::data
