#pragma once
// The data source `cuts`: batches of Lhotse cuts in an order that depends on seed and epoch only.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cuts_options.h"
#include "epoch_plan.h"
#include "prefetcher.h"
#include "s2s/data_source.h"
#include "s2s/duplex_data.h"
#include "s2s/registry.h"

namespace s2s::cuts {

class CutsSource : public DataSource {
 public:
  /// Reads the manifests. Errors: those of read_cuts and check_duplex_cuts, [data/cuts-path],
  /// [data/batch-size], [data/concatenate], [data/no-tokenizer], [data/empty].
  CutsSource(const CutsOptions& options, const DuplexDataOptions& data,
             const BuildContext& context);

  std::optional<Batch> next() override;
  std::string state() const override;
  void restore(const std::string& state) override;
  std::vector<std::string> texts() override;

 private:
  /// A batch in the one order that all data ranks share.
  struct Position {
    int64_t epoch = 0;
    int64_t batch = 0;
  };

  void report_texts(const BuildContext& context) const;
  const std::shared_ptr<const EpochPlan>& plan_of(int64_t epoch);
  /// The batch `count` places further; nothing beyond the end of a finite source.
  std::optional<Position> advance(Position position, int64_t count);
  std::optional<BatchJob> job_at(Position position);
  void fill_ahead();
  uint64_t fingerprint() const;

  CutsOptions options_;
  BatchSpec spec_;
  BatchRule rule_;
  std::string path_;
  std::vector<Cut> cuts_;
  const Tokenizer& tokenizer_;
  uint64_t seed_ = 0;
  int64_t data_rank_ = 0;
  int64_t data_size_ = 1;
  std::shared_ptr<AudioLoader> loader_;
  uint64_t fingerprint_ = 0;

  std::shared_ptr<const EpochPlan> plan_;
  int64_t plan_epoch_ = -1;
  /// Both are of data rank 0; nothing: beyond the end.
  std::optional<Position> handed_out_ = Position{};
  std::optional<Position> submitted_ = Position{};
  /// Last, so that its threads end before what they read.
  std::unique_ptr<Prefetcher> prefetcher_;
};

}  // namespace s2s::cuts
