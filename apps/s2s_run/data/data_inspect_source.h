#pragma once
// The data sources of `data inspect` and `bench data`: files of cuts, a Shar directory, a NeMo
// manifest, an input_cfg or a run's configuration.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "run/run.h"
#include "s2s/config.h"
#include "s2s/data/duplex_data.h"
#include "s2s/kinds/tokenizer.h"
#include "s2s_run/subcommands.h"

namespace s2s::run {

struct SourceArguments {
  std::vector<std::string> words;  // SOURCE..., or CONFIG [key=value...]
  std::string set = "train_ds";    // train_ds, or the name of a validation set
};

enum class SourceKind { kCuts, kShar, kNemo, kInputCfg, kBlock, kRun };
/// "cuts", "shar", ...
const char* name_of(SourceKind kind);

/// An opened data set. Its cuts are not read yet.
class DataSet {
 public:
  /// Errors: [data/missing-file], [data/source], [usage/arguments] for a set that the configuration
  /// does not have, those of the configuration.
  DataSet(const SourceArguments& arguments, const Invocation& invocation);

  SourceKind kind() const { return kind_; }
  /// The paths of cuts files, otherwise a single path.
  const std::vector<std::string>& words() const { return words_; }
  /// What is read, as a block like `train_ds`.
  const Config& block() const { return block_; }
  const std::string& path() const { return path_; }
  const std::string& base_dir() const { return base_dir_; }
  /// The `data` block of a run; null otherwise.
  const Config* data() const;
  uint64_t seed() const { return seed_; }
  /// The run's tokenizer; null: it has none, or SOURCE is not a run.
  std::unique_ptr<Tokenizer> tokenizer() const;
  /// Plugins and configuration; null when SOURCE is not a run.
  const Run* setup() const { return setup_.get(); }

 private:
  void open_run(const SourceArguments& arguments, const Invocation& invocation);
  void open_yaml(const SourceArguments& arguments, const Invocation& invocation);

  SourceKind kind_ = SourceKind::kCuts;
  std::vector<std::string> words_;
  Config block_ = Config::map();
  std::string path_;
  std::string base_dir_ = ".";
  uint64_t seed_ = 0;
  std::unique_ptr<Run> setup_;
};

/// The block of a run's data set: `data.train_ds`, or a validation set including inherited options.
/// Errors: [usage/arguments].
Config block_of_run(const Run& setup, const std::string& set);
/// True when a data set's block specifies cuts: input_cfg, shar_path, cuts_path or
/// manifest_filepath.
bool names_cuts(const Config& block);
/// The first cut of such a block, or null. Errors: those of opening and reading it.
std::shared_ptr<const Cut> first_cut(const Config& block, const std::string& path);

/// Visits the cuts of a set in file order until `visit` returns false. Each line of a cuts file is
/// parsed separately: `on_error` gets the error of a bad line, and reading continues if it returns
/// true.
using VisitCut = std::function<bool(const Cut&)>;
void visit_cuts(const DataSet& set, const VisitCut& visit,
                const std::function<bool(const Error&)>& on_error,
                const std::function<void(const std::string&)>& warn);

}  // namespace s2s::run
