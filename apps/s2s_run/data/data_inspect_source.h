#pragma once
// What `data inspect` and `bench data` look at: cuts files, a Shar directory, a NeMo manifest, an
// input_cfg or a run's configuration.

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
  std::string set = "train_ds";    // of a configuration: or the name of a validation set
};

enum class SourceKind { kCuts, kShar, kNemo, kInputCfg, kBlock, kRun };
/// "cuts", "shar", ...
const char* name_of(SourceKind kind);

/// Opened, nothing read yet.
class DataSet {
 public:
  /// Errors: [data/missing-file], [data/source], [usage/arguments] for a set that a configuration
  /// has not, those of the configuration.
  DataSet(const SourceArguments& arguments, const Invocation& invocation);

  SourceKind kind() const { return kind_; }
  /// Paths of cuts files, otherwise one.
  const std::vector<std::string>& words() const { return words_; }
  /// What is read, in the terms of `train_ds`.
  const Config& block() const { return block_; }
  /// Where the block stands, for messages.
  const std::string& path() const { return path_; }
  const std::string& base_dir() const { return base_dir_; }
  /// The `data` block of a run; null otherwise.
  const Config* data() const;
  uint64_t seed() const { return seed_; }
  /// The run's own; null: it has none, or SOURCE is no run.
  std::unique_ptr<Tokenizer> tokenizer() const;
  /// Plugins and what the configuration says; null when SOURCE is no run.
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

/// Whether a data set's block says where cuts are: input_cfg, shar_path, cuts_path,
/// manifest_filepath.
bool names_cuts(const Config& block);
/// The first cut of such a block, or null. Errors: those of opening and reading it.
std::shared_ptr<const Cut> first_cut(const Config& block, const std::string& path);

/// One pass over a set in the order of its files until `visit` returns false. Of cuts files every
/// line is read by itself, so that one bad line does not end it; its error goes to `on_error`.
using VisitCut = std::function<bool(const Cut&)>;
void visit_cuts(const DataSet& set, const VisitCut& visit,
                const std::function<bool(const Error&)>& on_error,
                const std::function<void(const std::string&)>& warn);

}  // namespace s2s::run
