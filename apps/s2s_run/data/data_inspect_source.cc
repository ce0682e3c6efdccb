#include "s2s_run/data/data_inspect_source.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/foreign_json.h"
#include "config/load_config.h"
#include "cuts/cut_files.h"
#include "cuts/cut_json.h"
#include "files/command_rules.h"
#include "files/line_reader.h"
#include "s2s_run/data/data_synth.h"
#include "s2s_run/subcommands.h"
#include "streams/input_source.h"
#include "streams/input_stream.h"

namespace s2s::run {
namespace {

namespace fs = std::filesystem;

Error source_error(const std::string& source, const std::string& reason) {
  return Error(ExitCode::kData, "data/source",
               fmt::format("'{}': {}; expected files of Lhotse cuts, a Shar directory, a NeMo "
                           "manifest, an input_cfg or a run's configuration (YAML)",
                           source, reason));
}

bool is_yaml(const std::string& path) { return path.ends_with(".yaml") || path.ends_with(".yml"); }

/// True for a folder with shards of cuts.
bool is_shar(const std::string& folder) {
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("cuts.") && name.find(".jsonl") != std::string::npos) return true;
  }
  return false;
}

std::string first_line(const std::string& path) {
  data::LineReader reader(path);
  std::string line;
  while (reader.next(line)) {
    if (line.find_first_not_of(" \t") != std::string::npos) return line;
  }
  return "";
}

/// Detects a NeMo manifest by the keys of its first line.
bool is_nemo(const std::string& path) {
  const auto object = try_parse_foreign_json(first_line(path));
  if (!object.is_object() || !object.contains("audio_filepath")) return false;
  if (object.contains("shard_id")) {
    throw source_error(path,
                       "the manifest belongs to a tarred set, whose audio is in tar files; write a "
                       "list [{type: nemo_tarred, manifest_filepath: ..., tarred_audio_filepaths: "
                       "...}] to a YAML file and inspect that");
  }
  return true;
}

Config list_of(const std::vector<std::string>& words) {
  Config list = Config::list();
  for (const std::string& word : words) list.items().push_back(Config::scalar(word, true));
  return list;
}

/// What to pass for a folder without shards: "it contains dev.jsonl, train.jsonl; give one of
/// them".
std::string advice_for(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (name.ends_with(".jsonl") || name.ends_with(".jsonl.gz")) names.push_back(name);
  }
  if (names.empty()) return "s2s-run data convert FOLDER OUT.jsonl.gz converts recordings to cuts";
  std::sort(names.begin(), names.end());
  constexpr size_t kMaxNames = 5;
  const bool has_more = names.size() > kMaxNames;
  names.resize(std::min(names.size(), kMaxNames));
  return fmt::format("it contains {}{}; give one of them", fmt::join(names, ", "),
                     has_more ? ", ..." : "");
}

bool is_recording(const std::string& path) {
  static const std::set<std::string> kEndings = {".wav", ".flac", ".ogg", ".opus", ".mp3", ".m4a"};
  return kEndings.contains(fs::path(path).extension().string());
}

SourceKind kind_of(const std::vector<std::string>& words) {
  const std::string& first = words.front();
  if (!fs::exists(first)) {
    throw Error(ExitCode::kData, "data/missing-file",
                fmt::format("'{}' does not exist; expected cuts, a Shar directory, a NeMo manifest "
                            "or a YAML file; check the path",
                            first));
  }
  if (fs::is_directory(first)) {
    if (is_shar(first)) return SourceKind::kShar;
    throw source_error(
        first, "the folder has no shards of cuts (cuts.000000.jsonl.gz); " + advice_for(first));
  }
  if (is_recording(first)) {
    throw source_error(first,
                       "a recording alone has no turns; s2s-run data convert FOLDER OUT.jsonl.gz "
                       "converts recordings to cuts");
  }
  if (is_yaml(first)) return SourceKind::kRun;
  return is_nemo(first) ? SourceKind::kNemo : SourceKind::kCuts;
}

/// True for a YAML file whose top level is a list (an input_cfg file).
bool is_list_file(const std::string& path) {
  data::LineReader reader(path);
  for (std::string line; reader.next(line);) {
    if (line.empty() || line.starts_with("#") || line.starts_with("---")) continue;
    return line.starts_with("-") || line.starts_with("[");
  }
  return false;
}

/// What a run's block reads, once and in order; filters and changes of training are not applied.
data::StreamPtr open_block(const Config& block, const std::string& path) {
  data::InputContext context;
  context.path = path;
  context.seed = [](const Config&, const std::string&) { return int64_t{0}; };
  Findings findings;
  data::InputNode node = data::parse_input(block, context, findings);
  findings.throw_if_any();
  data::make_finite(node);
  return data::open_input_tree(node).stream;
}

}  // namespace

Config block_of_run(const Run& setup, const std::string& set) {
  const Config* const training = setup.config().find_path("data.train_ds");
  if (set == "train_ds" && training != nullptr && training->is_map()) return *training;
  const std::map<std::string, Config>& others = setup.builder().settings().validation_sets;
  if (const auto found = others.find(set); found != others.end()) return found->second;
  std::string names = "train_ds";
  for (const auto& [name, block] : others) names += ", " + name;
  throw Error(ExitCode::kUsage, "usage/arguments",
              fmt::format("--set {}: the configuration has no such data set; expected one of: {}",
                          set, names));
}

bool names_cuts(const Config& block) {
  for (const char* key : {"input_cfg", "shar_path", "cuts_path", "manifest_filepath"}) {
    const Config* const found = block.find(key);
    if (found != nullptr && !found->is_null()) return true;
  }
  return false;
}

std::shared_ptr<const Cut> first_cut(const Config& block, const std::string& path) {
  const data::StreamPtr stream = open_block(block, path);
  const auto item = stream->next();
  if (!item) return nullptr;
  return item->cut ? item->cut : stream->make(item->key);
}

const char* name_of(SourceKind kind) {
  switch (kind) {
    case SourceKind::kCuts:
      return "cuts";
    case SourceKind::kShar:
      return "shar";
    case SourceKind::kNemo:
      return "nemo";
    case SourceKind::kInputCfg:
      return "input_cfg";
    case SourceKind::kBlock:
      return "data set";
    case SourceKind::kRun:
      return "run";
  }
  return "";
}

DataSet::DataSet(const SourceArguments& arguments, const Invocation& invocation)
    : kind_(kind_of(arguments.words)), words_(arguments.words), path_("SOURCE") {
  const std::vector<std::string>& words = arguments.words;
  switch (kind_) {
    case SourceKind::kCuts:
      block_["cuts_path"] = list_of(words);
      break;
    case SourceKind::kShar:
      block_["shar_path"] = list_of(words);
      break;
    case SourceKind::kNemo:
      block_["manifest_filepath"] =
          words.size() == 1 ? Config::scalar(words[0], true) : list_of(words);
      break;
    default:
      open_yaml(arguments, invocation);
  }
  if (setup_ != nullptr) return;
  block_["force_finite"] = Config::scalar("true");
  const bool has_size = block_.find("batch_size") != nullptr ||
                        block_.find("batch_duration") != nullptr ||
                        block_.find("bucket_batch_size") != nullptr;
  if (!has_size) block_["batch_size"] = Config::scalar("1");
}

void DataSet::open_yaml(const SourceArguments& arguments, const Invocation& invocation) {
  const std::string& file = arguments.words.front();
  if (is_list_file(file)) {
    kind_ = SourceKind::kInputCfg;
    block_["input_cfg"] = Config::scalar(fs::absolute(file).string(), true);
    return;
  }
  const Config config =
      load_effective_config(file, {arguments.words.begin() + 1, arguments.words.end()});
  if (config.find("data") != nullptr) {
    open_run(arguments, invocation);
  } else if (names_cuts(config)) {
    kind_ = SourceKind::kBlock;
    block_ = config;
    base_dir_ = fs::absolute(file).parent_path().string();
  } else {
    throw source_error(file,
                       "it has no 'data' block and specifies no data ('input_cfg', 'shar_path', "
                       "'cuts_path', 'manifest_filepath')");
  }
}

void DataSet::open_run(const SourceArguments& arguments, const Invocation& invocation) {
  const std::vector<std::string>& words = arguments.words;
  const ConfigArguments config{words.front(), {words.begin() + 1, words.end()}};
  setup_ = std::make_unique<Run>(config, RunPurpose::kTrain, invocation);
  make_configured_set(setup_->config(), ".");
  path_ = arguments.set == "train_ds" ? "data.train_ds"
                                      : "data.validation_ds.datasets." + arguments.set;
  block_ = block_of_run(*setup_, arguments.set);
  allow_typed_commands(block_);
  seed_ = static_cast<uint64_t>(setup_->builder().settings().trainer.seed);
}

const Config* DataSet::data() const {
  return setup_ == nullptr ? nullptr : setup_->config().find("data");
}

std::unique_ptr<Tokenizer> DataSet::tokenizer() const {
  return setup_ == nullptr ? nullptr : setup_->builder().tokenizer();
}

namespace {

void visit_lines(const std::string& path, const VisitCut& visit,
                 const std::function<bool(const Error&)>& on_error, bool& go_on,
                 data::Leniencies& leniencies) {
  data::LineReader reader(path);
  for (std::string line; go_on && reader.next(line);) {
    if (line.find_first_not_of(" \t") == std::string::npos) continue;
    try {
      Cut cut = data::parse_cut(line, path, reader.line(), leniencies);
      resolve_paths(cut);
      go_on = visit(cut);
    } catch (const Error& error) {
      go_on = on_error(error);
    }
  }
}

/// Stops when the stream repeats an error, because then it makes no progress.
void visit_stream(data::CutStream& stream, const VisitCut& visit,
                  const std::function<bool(const Error&)>& on_error) {
  std::string last_error;
  for (;;) {
    try {
      const auto item = stream.next();
      if (!item) return;
      const auto cut = item->cut ? item->cut : stream.make(item->key);
      if (!visit(*cut)) return;
    } catch (const Error& error) {
      if (error.what() == last_error || !on_error(error)) return;
      last_error = error.what();
    }
  }
}

}  // namespace

void visit_cuts(const DataSet& set, const VisitCut& visit,
                const std::function<bool(const Error&)>& on_error,
                const std::function<void(const std::string&)>& warn) {
  if (set.kind() == SourceKind::kRun) {
    return visit_stream(*open_block(set.block(), set.path()), visit, on_error);
  }
  if (set.kind() != SourceKind::kCuts) {
    return visit_stream(*data::open_input(set.words().front()), visit, on_error);
  }
  bool go_on = true;
  for (const std::string& path : set.words()) {
    data::Leniencies leniencies;
    if (go_on) visit_lines(path, visit, on_error, go_on, leniencies);
    for (const std::string& warning : leniencies.warnings(path)) warn(warning);
  }
}

}  // namespace s2s::run
