#include "config/config_errors.h"
#include "hf/hf.h"
#include "s2s/foreign_text.h"
#include "weights/json_file.h"
#include "weights/weights_errors.h"

namespace s2s::interop {
namespace {

/// The model_type in config.json of a folder ("llama"); "" when it has none. Errors: those of
/// reading the file.
std::string model_type_of(const std::string& folder) {
  const auto json = read_json_file(folder + "/config.json");
  const auto type = json.is_object() ? json.find("model_type") : json.end();
  const bool is_there = json.is_object() && type != json.end() && type->is_string();
  return is_there ? type->get<std::string>() : "";
}

}  // namespace

void name_language_model(Config& config, const std::vector<std::string>& families,
                         Findings& findings, ConfigNotes& notes) {
  Config* const model = config.find("model");
  Config* const llm = model == nullptr || !model->is_map() ? nullptr : model->find("llm");
  if (llm == nullptr || !llm->is_map() || llm->find("name") != nullptr) return;
  const Config* const path = llm->find("path");
  if (path == nullptr || !path->is_scalar() || path->is_null()) return;
  const Origin origin = path->origin();
  std::string type;
  try {
    type = model_type_of(path->text());
  } catch (const Error& error) {
    return findings.add(error);  // its family cannot be determined
  }
  std::string name;
  for (const std::string& family : families) {  // "qwen" of "qwen3"
    if (type.starts_with(family) && family.size() > name.size()) name = family;
  }
  if (type.empty()) return;
  if (name.empty()) {
    // The finding that the name is missing would hide the reason.
    throw weights_errors::no_reader(config_place("model.llm.path", *path), path->text(), type,
                                    families);
  }
  notes.others.push_back(config_place("model.llm.path", *path) + ": its config.json says " +
                         printable_name(type) + ", read as name: " + name);
  (*llm)["name"] = Config::scalar(name);
  (*llm)["name"].set_origin(origin);
}

}  // namespace s2s::interop
