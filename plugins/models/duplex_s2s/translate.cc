#include <set>

#include "duplex_errors.h"
#include "duplex_options.h"

namespace s2s::duplex {
namespace {

const Config& required(const Config& node, std::string_view key, const std::string& path) {
  const Config* found = node.find(key);
  if (found == nullptr) throw_not_translated(path + "." + std::string(key), Config(), "a value");
  return *found;
}

/// The last segment of a dotted class name ("a.b.ConformerEncoder" -> "ConformerEncoder").
std::string class_of(const Config& node, const std::string& path) {
  const std::string target = required(node, "_target_", path).text();
  return target.substr(target.rfind('.') + 1);
}

Config translate_encoder(const Config& perception) {
  const std::string path = "model.perception.encoder";
  const std::string type = class_of(required(perception, "encoder", "model.perception"), path);
  if (type != "ConformerEncoder") {
    throw_not_translated(path + "._target_", Config::scalar(type), "ConformerEncoder");
  }
  Config foreign = Config::map();
  for (const char* part : {"preprocessor", "encoder", "spec_augment"}) {
    if (const Config* found = perception.find(part)) foreign[part] = *found;
  }
  Config encoder = Config::map();
  encoder["name"] = Config::scalar("fastconformer");
  encoder["translate_from"] = std::move(foreign);
  return encoder;
}

Config translate_adapter(const Config& perception) {
  const std::string path = "model.perception.modality_adapter";
  const Config& node = required(perception, "modality_adapter", "model.perception");
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

Config translate_nemo(const Config& foreign) {
  const Config& model = required(foreign, "model", "options");
  const Config& perception = required(model, "perception", "model");
  const Config& llm_config = required(foreign, "llm_config", "options");
  Config out = Config::map();
  out["llm"]["name"] = required(llm_config, "model_type", "llm_config");
  out["llm"]["translate_from"] = llm_config;
  out["encoder"] = translate_encoder(perception);
  out["modality_adapter"] = translate_adapter(perception);
  out["codec"] = required(foreign, "codec", "options");
  if (const Config* tokens = foreign.find("tokens")) out["tokens"] = *tokens;
  for (const char* key : {"text_loss_weight", "audio_loss_weight", "duplex_user_channel_weight"}) {
    if (const Config* value = model.find(key)) out[key] = *value;
  }
  out["loss_normalization"] = Config::scalar("local");
  out["mask_padding"] = Config::scalar("false");
  return out;
}

}  // namespace s2s::duplex
