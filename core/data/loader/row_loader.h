#pragma once
// Loads the audio and tokens of a planned row, and collects what is wrong with its cuts.

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

/// Why a cut cannot be used: the values of an Error, which can cross threads without shared counts.
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
  std::unique_ptr<RowContent> content;  // in place of `row` if there is a RowKind
  std::vector<BadCut> bad;
};

/// Numbers of samples of a row.
struct RowLengths {
  int64_t source = 0;
  int64_t target = 0;
};

class RowLoader {
 public:
  struct Rules {
    BatchSpec spec;
    std::string path;  // of the data set's options, in messages
    bool allow_no_turns = false;
    bool leave_out = false;  // false: one bad cut makes the row bad
    double longest_cut_s = std::numeric_limits<double>::infinity();
    const RowKind* kind = nullptr;              // null: rows for the duplex model
    const BatchAugmenter* augmenter = nullptr;  // null: batches are not changed
  };
  /// Both references must outlive the loader.
  RowLoader(Rules rules, const Tokenizer& tokenizer, AudioLoader& audio);

  /// Loads a row. Thread-safe. If only some cuts of a row are bad, the good ones are kept and
  /// silence replaces the bad ones.
  /// Errors: those that are not about data.
  LoadResult load(const BatchRow& row, const CutBatches& batches) const;
  /// Returns the lengths that `load` would give, for a row whose first cut is made or whose number
  /// of frames is known. Otherwise 0, and also for a row that is longer than a cut may be.
  RowLengths lengths(const BatchRow& row) const;
  /// Null for rows of the duplex model.
  const RowKind* kind() const { return rules_.kind; }
  const BatchAugmenter* augmenter() const { return rules_.augmenter; }
  /// The token that pads rows.
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
