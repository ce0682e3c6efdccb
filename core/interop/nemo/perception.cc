// Options of a model's parts from NeMo's blocks.

#include <initializer_list>
#include <utility>

#include "s2s/model_parts.h"
#include "s2s/nemo.h"

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

/// Copies the keys that a foreign node has, under our names.
void copy_keys(const Config& from, Config& to,
               std::initializer_list<std::pair<const char*, const char*>> theirs_and_ours) {
  for (const auto& [theirs, ours] : theirs_and_ours) {
    if (const Config* value = from.find(theirs)) to[ours] = *value;
  }
}

Config translate_qformer(const Config& node, const std::string& path) {
  Config qformer = Config::map();
  for (const auto& [theirs, ours] : {std::pair{"prompt_size", "prompt_size"},
                                     {"qformer_num_hidden_layers", "num_hidden_layers"}}) {
    qformer[ours] = required_key(node, theirs, path);
  }
  qformer["num_attention_heads"] =
      required_key(required_key(node, "encoder_config", path), "encoder_attention_heads",
                   path + ".encoder_config");
  copy_keys(node, qformer, {{"intermediate_size", "intermediate_size"}, {"dropout", "dropout"}});
  return qformer;
}

/// FrameStackingConnector is the name of tests/reference/nemo_connectors.py: NeMo has none.
Config translate_stacking(const Config& node, const std::string& path) {
  Config stacking = Config::map();
  stacking["factor"] = required_key(node, "stack_factor", path);
  stacking["bias"] = Config::scalar("false");
  copy_keys(node, stacking, {{"hidden_act", "activation"}});
  return stacking;
}

}  // namespace

Config translate_modality_adapter(const Config& node, const Config* rote, const std::string& path) {
  const std::string type = class_of(node, path);
  Config adapter = Config::map();
  if (type == "IdentityConnector") {
    adapter["type"] = Config::scalar("identity");
    const bool projects = node.find("d_model") != nullptr && node.find("output_dim") == nullptr;
    if (!projects) adapter["project"] = Config::scalar("false");
  } else if (type == "ConformerEncoder") {
    adapter["type"] = Config::scalar("conformer");
    adapter["conformer"] = node;
    for (const char* key : {"_target_", "rote"}) adapter["conformer"].erase(key);
  } else if (type == "QformerConnector") {
    adapter["type"] = Config::scalar("qformer");
    adapter["qformer"] = translate_qformer(node, path);
  } else if (type == "MultiLayerProjectionConnector") {
    adapter["type"] = Config::scalar("multi_layer_projection");
  } else if (type == "FrameStackingConnector") {
    adapter["type"] = Config::scalar("frame_stacking");
    adapter["frame_stacking"] = translate_stacking(node, path);
  } else {
    throw_not_translated(path + "._target_", Config::scalar(type),
                         "IdentityConnector, ConformerEncoder, QformerConnector or "
                         "MultiLayerProjectionConnector");
  }
  copy_keys(
      node, adapter,
      {{"target_layer_ids", "target_layer_ids"}, {"include_final_output", "include_final_output"}});
  if (rote != nullptr && !rote->is_null()) {
    adapter["rote"] = *rote;
    adapter["rote"].erase("_target_");
    adapter["rote"]["enabled"] = Config::scalar("true");
  }
  return adapter;
}

void translate_perception(const Config& perception, const std::string& conformer, Config& model) {
  model["encoder"] = translate_encoder(perception, conformer);
  model["modality_adapter"] =
      translate_modality_adapter(required_key(perception, "modality_adapter", "model.perception"),
                                 perception.find("rote"), "model.perception.modality_adapter");
}

void nemo::read_listener(const Config& foreign, Config& out) {
  const Config& model = required_key(foreign, "model", "options");
  out["llm"] = translate_llm_config(required_key(foreign, "llm_config", "options"));
  translate_perception(required_key(model, "perception", "model"), "fastconformer", out);
  if (const Config* const tokens = foreign.find("tokens")) out["tokens"] = *tokens;
  out["loss_normalization"] = Config::scalar("local");
}

}  // namespace s2s
