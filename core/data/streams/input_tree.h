#pragma once
// The tree of what `input_cfg`, or the plain keys of a data set, say to read. It is parsed and
// checked, and no file is open.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "s2s/config.h"
#include "s2s/data/cuts.h"
#include "s2s/error.h"

namespace s2s::data {

/// Attributes that an entry inherits from its group unless it sets them, with NeMo's names. Seeds
/// are numbers here: the reader of the data set's block resolves "trng" and "randomized".
struct InputAttributes {
  bool shuffle = false;
  int64_t shard_seed = 0;
  std::string text_field = "text";
  std::string lang_field = "lang";
  bool metadata_only = false;
  bool force_finite = false;
  std::optional<int64_t> max_open_streams = {};
  bool skip_missing_manifest_entries = false;
  bool force_map_dataset = false;
  bool force_iterable_dataset = false;
  std::optional<int64_t> slice_length = {};
  bool keep_order = false;  // of Shar, whose shards NeMo always shuffles; not a key of the files
  /// Keeps conversations as they are (prompt_cut.h); not a key of the files.
  bool as_prompts = false;
  /// Called for each bad cut of the files, which is then skipped; maybe from several threads. If it
  /// is empty, the error is thrown.
  std::function<void(const Error&)> on_bad = {};
};

/// A column that another file adds to the cuts (NeMo's extra_fields).
struct ExtraField {
  std::string type;  // text_iter: consecutive lines; text_sample: random lines
  std::string name;
  std::string path;
};

/// Files that are mixed with one weight.
struct InputFiles {
  std::vector<std::string> manifests;  // Lhotse's or NeMo's; for Shar the shards of cuts, or empty
  std::vector<std::string> tars;       // NeMo's; empty: not tarred
  std::string directory;               // for Shar
  std::vector<std::pair<std::string, std::vector<std::string>>> fields;  // for Shar, without cuts
  std::optional<double> weight;
};

/// How a cut becomes a duplex dialogue, or how its two sides are swapped.
struct DuplexChange {
  double agent_silence_duration = -0.08;
  double move_agent_text_back_by = 0;
  bool filter_samples_starting_with_agent = false;
  std::vector<std::string> agent_roles = {};
  std::vector<std::string> user_roles = {};
  std::string target_agent_name = "agent";
  std::string target_user_name = "user";
};

struct InputNode {
  enum class Kind { kGroup, kCuts, kShar, kNemo, kConversations };
  Kind kind = Kind::kGroup;
  std::string type;  // as written
  std::string path;  // in the configuration, for messages
  InputAttributes attributes;
  std::optional<double> weight;
  CustomFields tags;

  double temperature = 1;           // for the weights of `children`
  std::vector<InputNode> children;  // for kGroup: at least one
  std::vector<InputFiles> files;    // for other kinds: several are mixed
  bool is_list = false;             // files were given as a list, maybe of one
  std::vector<ExtraField> extra_fields;
  DuplexChange duplex;
  std::vector<std::string> placeholders;  // ShareGPT's, for audio
  std::string audio_root;
};

/// The types that `input_cfg` may name, in the order of the documentation.
const std::vector<std::string>& input_types();

struct InputContext {
  std::string path;            // of the block, "data.train_ds"
  std::string base_dir = ".";  // of relative paths
  InputAttributes attributes;  // the block's own
  Config reweight_temperature = {};
  /// Converts a seed of the configuration (an integer, "trng" or "randomized") to a number.
  std::function<int64_t(const Config& seed, const std::string& path)> seed;
};

/// Reads `block`'s keys input_cfg, cuts_path, shar_path, manifest_filepath and
/// tarred_audio_filepaths. Relative paths are relative to the folder of the file that contains
/// them.
/// Errors: [data/cuts-path] when none is given; [data/input], [data/input-type], [data/weights],
/// and those of configuration.
/// Source: NeMo 3.0 nemo/collections/common/data/lhotse/cutset.py.
InputNode parse_input(const Config& block, const InputContext& context, Findings& findings);

}  // namespace s2s::data
