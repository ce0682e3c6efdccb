#pragma once
// From a planned row to its audio and tokens, and what is wrong with its cuts.

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "loader/augment_batch.h"
#include "loader/cut_batches.h"
#include "loader/row_kind.h"
#include "s2s/data/duplex_data.h"

namespace s2s::data {

/// Why a cut cannot be used: an Error as values, which cross threads without shared counts.
struct BadCut {
  std::string id;
  ExitCode code = ExitCode::kData;
  std::string error_id;
  std::string message;

  Error error() const { return {code, error_id, message}; }
};

BadCut bad_cut(std::string id, const Error& error);

struct LoadResult {
  std::optional<LoadedRow> row;         // nothing: no cut of the row can be used
  std::unique_ptr<RowContent> content;  // in place of `row`, of a RowKind
  std::vector<BadCut> bad;
};

/// Samples of a row.
struct RowLengths {
  int64_t source = 0;
  int64_t target = 0;
};

class RowLoader {
 public:
  struct Rules {
    BatchSpec spec;
    std::string path;  // of the data set's options, for messages
    bool allow_no_turns = false;
    bool leave_out = false;  // false: one bad cut makes the row bad
    double longest_cut_s = std::numeric_limits<double>::infinity();
    const RowKind* kind = nullptr;              // null: rows of the duplex model
    const BatchAugmenter* augmenter = nullptr;  // null: batches stay as they are
  };
  /// Both must live on.
  RowLoader(Rules rules, const Tokenizer& tokenizer, AudioLoader& audio);

  /// Thread-safe. Of several cuts in one row, the good ones are kept: where a bad one was is
  /// silence. Errors: those that are not about data.
  LoadResult load(const BatchRow& row, const CutBatches& batches) const;
  /// What `load` gives for a row whose first cut is made, or that has a length in frames; else 0,
  /// as for a row that is longer than a cut may be.
  RowLengths lengths(const BatchRow& row) const;
  /// Null: rows of the duplex model.
  const RowKind* kind() const { return rules_.kind; }
  const BatchAugmenter* augmenter() const { return rules_.augmenter; }
  /// Token for padding.
  int64_t pad() const { return tokenizer_.special_ids().pad; }

 private:
  LoadResult load_content(const BatchRow& row, const CutBatches& batches) const;
  LoadedRow load_checked(const CutSequence& sequence) const;
  std::optional<BadCut> trouble_with(const CutSequence& sequence) const;

  Rules rules_;
  const Tokenizer& tokenizer_;
  AudioLoader& audio_;
};

}  // namespace s2s::data
