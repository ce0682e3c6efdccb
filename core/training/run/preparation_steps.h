#pragma once
// The steps of a preparation (run_preparation.h).

#include <optional>

#include "run/meta_model.h"
#include "run/run_preparation.h"

namespace s2s::run {

/// What steps provide to later ones.
enum Prepared : unsigned {
  kNothingYet = 0,
  kRanks = 1U << 0U,
  kFolder = 1U << 1U,
  kStart = 1U << 2U,
  kTokenizer = 1U << 3U,
  kModel = 1U << 4U,
  kTrainData = 1U << 5U,
  kOptimizer = 1U << 6U,
  kFrozen = 1U << 7U,
  kMetrics = 1U << 8U,
};

struct Preparation {
  PreparedRun& run;
  PreparationReport* check = nullptr;  // null: this is a training
  unsigned have = kNothingYet;
  /// In a check, the model while its tokenizer does not exist yet.
  std::optional<MetaModel> placeholder = {};

  bool checks() const { return check != nullptr; }
  bool has(Prepared part) const { return (have & part) != 0; }
  const RunBuilder& builder() const { return run.setup.builder(); }
  const RunOptions& settings() const { return builder().settings(); }
  /// Calls `body`. In a check, its error becomes a finding, and the result is false.
  template <class Body>
  bool attempt(const Body& body) const {
    if (!checks()) {
      body();
      return true;
    }
    try {
      body();
      return true;
    } catch (const Error& error) {
      check->findings.add(error);
      return false;
    }
  }
};

struct PreparationStep {
  const char* what;
  unsigned needs, gives;
  /// Returns false if a check cannot provide the result yet.
  bool (*take)(Preparation& preparation);
};

// Steps that need no model. In a training, they write files.
bool meet_ranks(Preparation& preparation);
bool open_run_folder(Preparation& preparation);
bool open_log(Preparation& preparation);
bool read_settings(Preparation& preparation);
bool make_data(Preparation& preparation);
bool choose_start(Preparation& preparation);
bool try_checkpoints(Preparation& preparation);
bool write_files(Preparation& preparation);
bool find_room(Preparation& preparation);

// Data sets.
bool open_training_data(Preparation& preparation);
bool open_validation(Preparation& preparation);
bool take_first_batch(Preparation& preparation);
/// The folder that data.synth would create before training opens its data; "" if none.
std::string data_to_make(const Run& setup);

}  // namespace s2s::run
