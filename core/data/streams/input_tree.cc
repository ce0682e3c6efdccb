#include "streams/input_tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <system_error>
#include <utility>

#include "config/config_errors.h"
#include "config/config_tree.h"
#include "config/load_config.h"
#include "config/yaml_reader.h"
#include "s2s/foreign_text.h"
#include "streams/input_item.h"
#include "streams/source_files.h"
#include "streams/stream_errors.h"

namespace s2s::data {
namespace {

constexpr int kMaxLevels = 32;
constexpr int64_t kMaxSources = 20'000;  // files may include the same files repeatedly

/// Temperatures of a level and of those below it. A scalar applies to every level.
struct Temperatures {
  std::vector<double> values;
  bool is_scalar = false;

  double here() const { return values.empty() ? 1 : values.front(); }
  Temperatures below() const {
    if (is_scalar || values.empty()) return *this;
    return {{values.begin() + 1, values.end()}, false};
  }
};

constexpr const char* kTextAlone =
    "text without audio, which has a data set of its own beside this one "
    "(s2s-run plugin list --kind data)";

/// Says why a type is refused; "" for a type that is read here.
std::string refusal(const std::string& type) {
  static const std::map<std::string, std::string> kRefused = {
      {"txt", kTextAlone},
      {"txt_jsonl", kTextAlone},
      {"txt_pair", kTextAlone},
      {"nemo_sft_jsonl", kTextAlone},
      {"sqa_as_conversation", "a question about audio, not a dialogue"},
      {"multi_speaker_simulator", "a mixture of speakers without an agent, not a dialogue"},
      {"parquet", "not read here (convert the set: 's2s-run data convert')"},
      {"share_gpt_webdataset", "not read here (write JSONL and use share_gpt)"},
      {"lhotse_magpietts_data_as_continuation", "speech without a user, not a dialogue"},
  };
  const auto found = kRefused.find(type);
  if (found != kRefused.end()) return found->second;
  const auto& known = input_types();
  return std::find(known.begin(), known.end(), type) == known.end() ? "not a known type" : "";
}

/// Reads the YAML file `file`, which `node` at `path` names.
Config read_yaml_list(const std::string& path, const Config& node, const std::string& file) {
  Config top = Config::map();
  try {
    top["input_cfg"] = parse_yaml(read_small_file(file), file);
  } catch (const std::system_error& error) {
    const std::string problem =
        error.code() == std::errc::no_such_file_or_directory
            ? fmt::format("there is no file '{}'", file)
            : fmt::format("the file '{}' cannot be read ({})", file, error.code().message());
    throw stream_errors::bad_input(path, node, problem,
                                   "a list of sources, or the path of a YAML file with one");
  }
  resolve_interpolations(top);
  Config list = *top.find("input_cfg");
  // The file may hold a block around the list.
  if (list.is_map() && list.find("input_cfg") != nullptr) return *list.find("input_cfg");
  return list;
}

class Parser {
 public:
  Parser(const InputContext& context, Findings& findings)
      : context_(context), findings_(findings) {}

  /// Parses the list in `node`, or in the YAML file that it names.
  void parse_group(const Config& node, const std::string& base_dir, const Temperatures& own,
                   int level, InputNode& group) {
    if (level > kMaxLevels) {
      return findings_.add(stream_errors::bad_input(group.path, node, "groups inside of groups",
                                                    "at most 32 levels"));
    }
    depth_ = std::max(depth_, level);
    group.temperature = own.here();
    if (!node.is_scalar()) return parse_list(node, base_dir, own.below(), level, group);
    const std::string file = path_from(base_dir, node.text());
    if (!enter(file, node, group)) return;
    try {
      const Config list = read_yaml_list(group.path, node, file);
      const auto folder = std::filesystem::path(file).parent_path().string();
      parse_list(list, folder.empty() ? "." : folder, own.below(), level, group);
    } catch (const Error& error) {
      findings_.add(error);
    }
    open_files_.pop_back();
  }

  /// A block or an entry without input_cfg: cuts_path, shar_path or manifest_filepath.
  void parse_leaf(const InputItem& item, const std::string& base_dir, InputNode& leaf) {
    const SourceScope scope{leaf.path, base_dir, findings_, num_files_};
    if (item.shar_path.is_null() && item.cuts_path.is_null()) {
      if (item.manifest_filepath.is_null()) {
        return findings_.add(stream_errors::no_input(leaf.path));
      }
      leaf.kind = InputNode::Kind::kNemo;
      read_nemo_files(item.manifest_filepath, item.tarred_audio_filepaths, scope, leaf);
      read_extra_fields(item.extra_fields, scope, leaf);
    } else if (!item.shar_path.is_null()) {
      leaf.kind = InputNode::Kind::kShar;
      read_shar_files(item.shar_path, scope, leaf);
    } else {
      leaf.kind = InputNode::Kind::kCuts;
      read_cut_files(item.cuts_path, scope, leaf);
    }
  }

  /// Checks that a list has one value per level, as NeMo requires.
  void check_depth(const Temperatures& written, const Config& node) const {
    if (written.is_scalar || written.values.empty()) return;
    if (static_cast<int>(written.values.size()) == depth_) return;
    findings_.add(stream_errors::bad_weights(
        context_.path + ".reweight_temperature", node,
        fmt::format("{} temperatures for {} levels of input_cfg", written.values.size(), depth_),
        "one for each level, or a single number"));
  }

  Temperatures read_temperatures(const Config& node, const std::string& path) const {
    Temperatures read;
    if (node.is_null()) return read;
    read.is_scalar = node.is_scalar();
    const std::vector<Config> one = {node};
    try {
      for (const Config& item : read.is_scalar ? one : node.items()) {
        read.values.push_back(item.as_double(path));
      }
    } catch (const Error& error) {
      findings_.add(error);
    }
    return read;
  }

 private:
  /// Returns false and adds a finding if the file is already being read, because it includes
  /// itself.
  bool enter(const std::string& file, const Config& node, const InputNode& group) {
    std::error_code failed;
    const std::filesystem::path resolved = std::filesystem::weakly_canonical(file, failed);
    const std::string real = failed ? file : resolved.string();  // the error of reading it says why
    if (std::find(open_files_.begin(), open_files_.end(), real) == open_files_.end()) {
      open_files_.push_back(real);
      return true;
    }
    if (reported_.insert(real).second) {
      findings_.add(stream_errors::bad_input(
          group.path, node, fmt::format("the file '{}' includes itself", file),
          "a YAML file that does not include this one; remove the entry"));
    }
    return false;
  }

  void parse_list(const Config& list, const std::string& base_dir, const Temperatures& below,
                  int level, InputNode& group) {
    if (!list.is_list() || list.items().empty()) {
      return findings_.add(stream_errors::bad_input(
          group.path, list, list.is_list() ? "the list is empty" : "it is no list",
          "a list of sources, or the path of a YAML file with one"));
    }
    int64_t index = 0;
    for (const Config& item : list.items()) {
      parse_item(item, fmt::format("{}.{}", group.path, index++), base_dir, below, level, group);
    }
    check_weights(list, group);
  }

  void check_weights(const Config& list, const InputNode& group) const {
    int64_t with = 0;
    const InputNode* without = nullptr;
    for (const InputNode& child : group.children) {
      if (child.weight) {
        ++with;
      } else if (without == nullptr) {
        without = &child;
      }
      if (child.weight && !(*child.weight > 0)) {
        findings_.add(stream_errors::bad_weights(
            child.path + ".weight", list, fmt::format("{:g}", *child.weight), "a weight above 0"));
      }
    }
    if (with > 0 && without != nullptr) {
      findings_.add(stream_errors::some_weights(group.path, without->path));
    }
  }

  void parse_item(const Config& node, const std::string& path, const std::string& base_dir,
                  const Temperatures& inherited, int level, InputNode& group) {
    if (++num_sources_ > kMaxSources) {
      if (num_sources_ > kMaxSources + 1) return;
      return findings_.add(stream_errors::bad_input(
          path, node, fmt::format("more than {} sources", kMaxSources),
          "at most that many; see whether files include the same files repeatedly"));
    }
    InputNode child;
    child.path = path;
    InputItem item;
    item.attributes = group.attributes;
    OptionReader(node, path, findings_).read(item);
    child.type = item.type;
    const std::string why = item.type.empty() ? "" : refusal(item.type);
    const Config* type = node.find("type");
    if (!why.empty() && type != nullptr) {
      return findings_.add(stream_errors::input_type(path + ".type", *type, why));
    }
    if (item.type.empty()) return;  // already a finding
    child.attributes = item.attributes;
    if (!item.shard_seed.is_null()) {
      child.attributes.shard_seed = context_.seed(item.shard_seed, path + ".shard_seed");
    }
    child.weight = item.weight;
    read_tags(item.tags, path + ".tags", child);
    child.duplex = item.duplex_change();
    const Temperatures own =
        item.reweight_temperature.is_null()
            ? inherited
            : read_temperatures(item.reweight_temperature, path + ".reweight_temperature");
    parse_content(node, item, {base_dir, own, level}, child);
    group.children.push_back(std::move(child));
  }

  struct Place {
    std::string base_dir;
    Temperatures temperatures;
    int level;
  };

  void parse_content(const Config& node, const InputItem& item, const Place& place,
                     InputNode& child) {
    const SourceScope scope{child.path, place.base_dir, findings_, num_files_};
    const bool is_group = item.type == "group" || item.type == "pairs";
    if (is_group && item.input_cfg.is_null()) {
      return findings_.add(stream_errors::bad_input(child.path, node, "the group has no input_cfg",
                                                    "a list of sources or a YAML file's path"));
    }
    const bool is_conversation = item.type == "multimodal_conversation" || item.type == "share_gpt";
    if (is_conversation) {
      child.kind = InputNode::Kind::kConversations;
      child.placeholders = item.placeholders();
      if (item.audio_root) child.audio_root = path_from(place.base_dir, *item.audio_root);
      return read_conversation_files(item.manifest_filepath, item.tarred_audio_filepaths, scope,
                                     child);
    }
    if (!item.input_cfg.is_null()) {
      InputNode& group = child;
      group.path += ".input_cfg";
      parse_group(item.input_cfg, place.base_dir, place.temperatures, place.level + 1, group);
      if (item.type == "pairs" && group.children.size() != 2) {
        findings_.add(stream_errors::bad_input(group.path, node,
                                               fmt::format("{} sources", group.children.size()),
                                               "two: the source cuts, and the target cuts"));
      }
      return;
    }
    parse_leaf(item, place.base_dir, child);
  }

  void read_tags(const Config& tags, const std::string& path, InputNode& node) const {
    if (tags.is_null()) return;
    if (!tags.is_map()) return findings_.add(type_error(path, tags, "a map of custom fields"));
    for (const auto& [name, value] : tags.entries()) {
      node.tags.emplace_back(name, JsonText{config_json(value).dump()});
    }
  }

  const InputContext& context_;
  Findings& findings_;
  size_t num_files_ = 0;
  int depth_ = 0;
  int64_t num_sources_ = 0;
  /// Files that include each other, down to the one that is read.
  std::vector<std::string> open_files_;
  std::set<std::string> reported_;
};

}  // namespace

const std::vector<std::string>& input_types() {
  static const std::vector<std::string> kTypes = {"group",
                                                  "lhotse",
                                                  "lhotse_shar",
                                                  "nemo",
                                                  "nemo_tarred",
                                                  "nemo_tarred_to_duplex",
                                                  "s2s_duplex_overlap_as_s2s_duplex",
                                                  "s2s_duplex_reverse_role",
                                                  "lhotse_as_conversation",
                                                  "s2s_as_conversation",
                                                  "pairs",
                                                  "multimodal_conversation",
                                                  "share_gpt"};
  return kTypes;
}

InputNode parse_input(const Config& block, const InputContext& context, Findings& findings) {
  InputNode top;
  top.path = context.path;
  top.attributes = context.attributes;
  Parser parser(context, findings);
  const Config* input_cfg = block.find("input_cfg");
  if (input_cfg != nullptr && !input_cfg->is_null()) {
    top.type = "group";
    top.path += ".input_cfg";
    const auto temperatures = parser.read_temperatures(context.reweight_temperature,
                                                       context.path + ".reweight_temperature");
    parser.parse_group(*input_cfg, context.base_dir, temperatures, 1, top);
    parser.check_depth(temperatures, context.reweight_temperature);
    return top;
  }
  InputItem item;
  for (const auto& [key, member] : item.sources()) {
    if (const Config* value = block.find(key)) *member = *value;
  }
  top.type = "lhotse";
  parser.parse_leaf(item, context.base_dir, top);
  return top;
}

}  // namespace s2s::data
