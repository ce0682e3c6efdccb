// Options of a model's parts from foreign configurations.

#include "s2s/model_parts.h"

namespace s2s {
namespace {

/// The last segment of a dotted class name ("a.b.ConformerEncoder" -> "ConformerEncoder").
std::string class_of(const Config& node, const std::string& path) {
  const std::string target = required_key(node, "_target_", path).text();
  return target.substr(target.rfind('.') + 1);
}

Config translate_encoder(const Config& perception, const std::string& conformer) {
  const std::string path = "model.perception.encoder";
  const std::string type = class_of(required_key(perception, "encoder", "model.perception"), path);
  if (type != "ConformerEncoder") {
    throw_not_translated(path + "._target_", Config::scalar(type), "ConformerEncoder");
  }
  Config foreign = Config::map();
  for (const char* part : {"preprocessor", "encoder", "spec_augment"}) {
    if (const Config* found = perception.find(part)) foreign[part] = *found;
  }
  Config encoder = Config::map();
  encoder["name"] = Config::scalar(conformer);
  encoder["translate_from"] = std::move(foreign);
  return encoder;
}

Config translate_adapter(const Config& perception) {
  const std::string path = "model.perception.modality_adapter";
  const Config& node = required_key(perception, "modality_adapter", "model.perception");
  const std::string type = class_of(node, path);
  Config adapter = Config::map();
  if (type == "IdentityConnector") {
    adapter["type"] = Config::scalar("identity");
  } else if (type == "ConformerEncoder") {
    adapter["type"] = Config::scalar("conformer");
    adapter["conformer"] = node;
    adapter["conformer"].erase("_target_");
  } else {
    throw_not_translated(path + "._target_", Config::scalar(type),
                         "IdentityConnector or ConformerEncoder");
  }
  return adapter;
}

}  // namespace

const Config& required_key(const Config& node, const std::string& key, const std::string& path) {
  const Config* found = node.find(key);
  if (found == nullptr) throw_not_translated(path + "." + key, Config(), "a value");
  return *found;
}

Config translate_llm_config(const Config& llm_config) {
  Config llm = Config::map();
  llm["name"] = required_key(llm_config, "model_type", "llm_config");
  llm["translate_from"] = llm_config;
  return llm;
}

void translate_perception(const Config& perception, const std::string& conformer, Config& model) {
  model["encoder"] = translate_encoder(perception, conformer);
  model["modality_adapter"] = translate_adapter(perception);
}

}  // namespace s2s
