// Combines the decoder options of a Hugging Face folder and of the configuration.

#include <filesystem>

#include "config/scalar.h"
#include "nn/decoder/config_keys.h"
#include "s2s/foreign_text.h"
#include "s2s/nn/decoder_options.h"
#include "s2s/nn/speech_encoder.h"
#include "s2s/nn/weights.h"

namespace s2s {
namespace {

/// Warns: "FOLDER holds a 'NAME' model; its text_config is used, its vision_config is not".
void tell_of_unused_parts(const Config& foreign, const std::string& folder,
                          const BuildContext& context) {
  std::string unused;
  for (const auto& [key, value] : foreign.entries()) {
    if (!key.ends_with("_config") || key == "text_config" || !value.is_map()) continue;
    unused += (unused.empty() ? "'" : ", '") + key + "'";
  }
  const Config* type = foreign.find("model_type");
  context.warn(context.path + ".path: '" + folder + "' holds a '" +
               (type == nullptr ? "" : type->text()) +
               "' model; its language model (text_config) is used, the rest is not read: " +
               (unused.empty() ? "no further *_config" : unused));
}

/// Compares values, so that 10000 and 1e4 are equal.
bool says_the_same(const Config& written, const Config& of_folder) {
  if (!written.is_scalar() || !of_folder.is_scalar()) return true;  // maps are merged elsewhere
  const auto a = parse_float(written.text());
  const auto b = parse_float(of_folder.text());
  return a && b ? *a == *b : written.text() == of_folder.text();
}

/// Warns when the configuration overrides a value that the weights were trained with.
void tell_of_other_values(const Config& node, const Config& of_folder, const std::string& folder,
                          const BuildContext& context) {
  for (const auto& [key, value] : node.entries()) {
    const Config* theirs = of_folder.find(key);
    if (theirs == nullptr || says_the_same(value, *theirs)) continue;
    context.warn(context.path + "." + key + ": " + value.text() + " (" + value.origin().text() +
                 ") wins over " + theirs->text() + " of '" + folder + "/config.json'");
  }
}

/// Warns once, with all names.
void tell_of_unknown_keys(const std::vector<std::string>& keys, const std::string& folder,
                          const BuildContext& context) {
  if (keys.empty()) return;
  std::string names;
  for (const std::string& key : keys) names += (names.empty() ? "" : ", ") + printable_name(key);
  context.warn(context.path + ".path: " + names + " of '" + folder + "/config.json' " +
               (keys.size() == 1 ? "has" : "have") +
               " no meaning for s2s and changed nothing; check that the model's results do not "
               "depend on " +
               (keys.size() == 1 ? "it" : "them"));
}

/// What a folder holds.
struct Folder {
  std::string path;
  Config foreign;
  bool is_language_model;
};

/// `node` and the translated keys of the folder that its `path` names.
Config joined_with_folder(const Config& node, const Folder& holds, const BuildContext& context,
                          Config (*translate)(const Config& foreign)) {
  const auto& [folder, foreign, is_language_model] = holds;
  const UnknownKeys unknown;
  Config merged = translate(foreign);
  if (context.warn) {
    tell_of_unknown_keys(unknown.names(), folder, context);
    if (is_language_model && foreign.find("text_config") != nullptr) {
      tell_of_unused_parts(foreign, folder, context);
    }
    tell_of_other_values(node, merged, folder, context);
  }
  for (const auto& [key, value] : node.entries()) merged[key] = value;
  Config resolved = Config::scalar(folder, true);
  resolved.set_origin(node.find("path")->origin());
  merged["path"] = std::move(resolved);
  merged.set_origin(node.origin());
  return merged;
}

}  // namespace

Config with_folder_config(const Config& node, const BuildContext& context,
                          Config (*translate)(const Config& foreign)) {
  const Config* path = node.find("path");
  if (path == nullptr || path->is_null()) return node;
  const std::string folder =
      resolve_path(path->as_string(context.path + ".path"), context.base_dir);
  const Config foreign = read_json((std::filesystem::path(folder) / "config.json").string());
  return joined_with_folder(node, {folder, foreign, true}, context, translate);
}

Config with_encoder_folder(const Config& node, const BuildContext& context,
                           Config (*translate)(const Config& foreign)) {
  const Config* path = node.find("path");
  if (path == nullptr || path->is_null()) return node;
  const std::filesystem::path folder =
      resolve_path(path->as_string(context.path + ".path"), context.base_dir);
  if (std::filesystem::is_regular_file(folder)) {
    Config resolved = node;
    resolved["path"] = Config::scalar(folder.string(), true);
    return resolved;
  }
  Config foreign = read_json((folder / "config.json").string());
  const std::filesystem::path front_end = folder / "preprocessor_config.json";
  if (std::filesystem::exists(front_end)) foreign["preprocessor"] = read_json(front_end.string());
  return joined_with_folder(node, {folder.string(), foreign, false}, context, translate);
}

bool has_folder_config(const Config& node, const BuildContext& context) {
  const Config* const path = node.find("path");
  if (path == nullptr || !path->is_scalar() || path->is_null()) return true;
  return !std::filesystem::is_regular_file(resolve_path(path->text(), context.base_dir));
}

}  // namespace s2s
