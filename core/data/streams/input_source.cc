#include "streams/input_source.h"

#include <filesystem>
#include <utility>
#include <vector>

#include "base/foreign_json.h"
#include "config/load_config.h"
#include "config/yaml_reader.h"
#include "cuts/cuts_errors.h"
#include "files/brace_expansion.h"
#include "files/command_rules.h"
#include "files/line_file.h"
#include "files/pipe_command.h"
#include "streams/input_stream.h"
#include "streams/source_files.h"
#include "streams/stream_errors.h"

namespace s2s::data {
namespace {

namespace fs = std::filesystem;

bool is_nemo(const std::string& source, const files::OpenOptions& options = {}) {
  const auto file = files::open_line_file(
      source, options,
      "Lhotse cuts (.jsonl, .jsonl.gz), a Shar directory, a NeMo manifest or a YAML");
  if (file->size() == 0) return false;
  const auto line = try_parse_foreign_json(file->line(0));
  return line.is_object() && line.contains("audio_filepath");
}

bool is_folder(const std::string& source) {
  return !files::pipe_command(source) && fs::is_directory(source);
}

bool is_yaml(const std::string& source) {
  return !files::pipe_command(source) && (source.ends_with(".yaml") || source.ends_with(".yml"));
}

Config scalar_block(const char* key, const std::string& source) {
  Config block = Config::map();
  block[key] = Config::scalar(source, /*quoted=*/true);
  return block;
}

/// Reads the block in a YAML file, which holds an input_cfg (a list), the block itself, or a run's
/// configuration with data.train_ds.
Config block_of_yaml(const std::string& source) {
  Config block = scalar_block("input_cfg", source);
  Config top;
  try {
    top = load_config(source);
  } catch (const Error& error) {
    if (error.id() == "config/type") return block;  // it is a list
    throw;
  }
  resolve_interpolations(top);
  if (const Config* train = top.find_path("data.train_ds")) return *train;
  return top;
}

/// Parses texts like "shar_path=shar" or "[[first.json], [second.json]]"; nothing for other texts.
std::optional<Config> block_of_text(const std::string& source) {
  if (source.starts_with("[")) {
    return parse_yaml("manifest_filepath: " + source, "the command line");
  }
  for (const std::string key : {"input_cfg", "cuts_path", "shar_path", "manifest_filepath"}) {
    if (source.starts_with(key + "=")) {
      return parse_yaml(key + ": " + source.substr(key.size() + 1), "the command line");
    }
  }
  return std::nullopt;
}

Config block_of(const std::string& source) {
  if (std::optional<Config> block = block_of_text(source)) return std::move(*block);
  if (is_folder(source)) return scalar_block("shar_path", source);
  if (is_yaml(source)) return block_of_yaml(source);
  return scalar_block(is_nemo(source) ? "manifest_filepath" : "cuts_path", source);
}

/// Parses a block. The sets of a multi_config block follow each other.
InputNode parse_sets(const Config& block, const InputContext& context, Findings& findings) {
  const Config* multi = block.find("multi_config");
  if (multi == nullptr || multi->text() != "true") return parse_input(block, context, findings);
  InputNode group;
  group.type = "group";
  group.path = context.path;
  for (const auto& [name, set] : block.entries()) {
    const bool has_source = set.find("input_cfg") || set.find("cuts_path") ||
                            set.find("shar_path") || set.find("manifest_filepath");
    if (!has_source) continue;
    InputContext own = context;
    own.path += "." + name;
    group.children.push_back(parse_input(set, own, findings));
  }
  return group;
}

std::string folder_of(const std::string& source) {
  const std::string folder = fs::path(source).parent_path().string();
  return is_yaml(source) && !folder.empty() ? folder : ".";
}

void set_on_bad(InputNode& node, const files::OnBad& on_bad) {
  node.attributes.on_bad = on_bad;
  for (InputNode& child : node.children) set_on_bad(child, on_bad);
}

/// Reads what a data set's block says about all its sources. Mistakes are reported when a run reads
/// the block.
void read_attributes(const Config& block, InputContext& context) {
  InputAttributes& a = context.attributes;
  const auto scalar = [&](const char* key) {
    const Config* node = block.find(key);
    return node != nullptr && node->is_scalar() && !node->is_null() ? node : nullptr;
  };
  if (const Config* node = scalar("text_field")) a.text_field = node->text();
  if (const Config* node = scalar("lang_field")) a.lang_field = node->text();
  if (const Config* node = scalar("shuffle")) a.shuffle = node->as_bool(context.path + ".shuffle");
  if (const Config* node = block.find("reweight_temperature")) context.reweight_temperature = *node;
}

/// Parses a block. `seed` replaces seeds that are not numbers.
InputNode parse_block(const Config& block, InputContext context, int64_t seed) {
  context.attributes.shard_seed = seed;
  context.seed = [seed](const Config& node, const std::string& path) {
    return node.text() == "trng" || node.text() == "randomized" ? seed : node.as_int(path);
  };
  read_attributes(block, context);
  Findings findings;
  InputNode node = parse_sets(block, context, findings);
  findings.throw_if_any();
  return node;
}

/// Parses what `source` names.
InputNode parse_source(const std::string& source, bool metadata_only, int64_t seed) {
  const Config block = block_of(source);
  InputContext context;
  context.path = source;
  context.base_dir = folder_of(source);
  context.attributes.metadata_only = metadata_only;
  // The command line gave this path, so it is relative to the current folder.
  if (block.find("input_cfg") != nullptr && block.find("input_cfg")->is_scalar() &&
      block.find("input_cfg")->text() == source) {
    context.base_dir = ".";
  }
  return parse_block(block, std::move(context), seed);
}

/// Rows of a stream. The keys of a whole pass are in one list.
class StreamRows : public CutRows {
 public:
  StreamRows(StreamPtr stream, const std::string& source, const files::OpenOptions& options)
      : stream_(std::move(stream)) {
    constexpr int64_t kReportEvery = 1000;
    const int64_t expected = stream_->size().value_or(0);
    while (const std::optional<CutItem> item = stream_->next()) {
      keys_.insert(keys_.end(), item->key.begin(), item->key.end());
      ends_.push_back(keys_.size());
      if (options.on_progress && size() % kReportEvery == 0) {
        options.on_progress({source, size(), expected});
      }
    }
  }

  int64_t size() const override { return static_cast<int64_t>(ends_.size()); }
  uint64_t fingerprint() const override { return stream_->fingerprint(); }
  Cut cut(int64_t row) const override {
    const auto i = static_cast<size_t>(row);
    const size_t begin = i == 0 ? 0 : ends_[i - 1];
    return *stream_->make(CutKeyView(keys_).subspan(begin, ends_[i] - begin));
  }

 private:
  StreamPtr stream_;
  std::vector<int64_t> keys_;
  std::vector<size_t> ends_;
};

std::unique_ptr<CutRows> rows_of(StreamPtr stream, const std::string& source,
                                 const files::OpenOptions& options) {
  auto rows = std::make_unique<StreamRows>(std::move(stream), source, options);
  if (rows->size() == 0) throw cuts_errors::empty({source});
  return rows;
}

/// Whether `source` is something other than files of Lhotse cuts or a Shar directory: a YAML file,
/// or a NeMo manifest (according to the first line of its first file).
/// Errors: those of opening the file.
bool is_changed_input(const std::string& source, const files::OpenOptions& options) {
  if (is_folder(source)) return false;
  if (is_yaml(source) || block_of_text(source)) return true;
  const std::vector<std::string> paths = files::expand_shard_pattern(source);
  return !paths.empty() && is_nemo(paths.front(), options);
}

}  // namespace

void allow_commands_of_source(const std::string& source) {
  allow_typed_command(source);
  if (const auto block = block_of_text(source)) allow_typed_commands(*block);
}

void make_finite(InputNode& node) {
  node.attributes.force_finite = true;
  node.attributes.shuffle = false;
  node.attributes.keep_order = true;
  node.attributes.max_open_streams.reset();
  node.attributes.slice_length.reset();
  node.attributes.force_map_dataset = true;
  for (InputNode& child : node.children) make_finite(child);
}

InputNode parse_input_source(const std::string& source, bool metadata_only) {
  InputNode node = parse_source(source, metadata_only, 0);
  make_finite(node);
  return node;
}

StreamPtr open_input(const std::string& source, bool metadata_only, files::OnBad on_bad) {
  InputNode node = parse_input_source(source, metadata_only);
  set_on_bad(node, on_bad);
  return open_input_tree(node).stream;
}

StreamPtr open_sampled_input(const std::string& source, int64_t seed) {
  return open_input_tree(parse_source(source, true, seed)).stream;
}

std::unique_ptr<CutRows> open_input_rows(const std::string& source,
                                         const files::OpenOptions& given) {
  files::OpenOptions options = given;
  /// So that commands run once.
  if (!options.cache) options.cache = std::make_shared<files::ByteCache>();
  if (!is_changed_input(source, options)) return open_cut_rows(source, options);
  return rows_of(open_input(source, false, options.on_damage), source, options);
}

std::unique_ptr<CutRows> open_block_rows(const Config& block, const std::string& path,
                                         const files::OpenOptions& options) {
  InputContext context;
  context.path = path;
  InputNode node = parse_block(block, std::move(context), 0);
  make_finite(node);
  set_on_bad(node, options.on_damage);
  return rows_of(open_input_tree(node).stream, path, options);
}

}  // namespace s2s::data
