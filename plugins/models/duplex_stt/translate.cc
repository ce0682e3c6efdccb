#include <vector>

#include "stt_options.h"

namespace s2s::stt {
namespace {

/// Keys of NeMo's block that are options with the same name.
std::vector<std::string> shared_keys() {
  std::vector<std::string> keys;
  for (const OptionRow& row : list_options<SttOptions>()) {
    keys.push_back(row.name.substr(0, row.name.find('.')));
  }
  return keys;
}

}  // namespace

Config translate_nemo(const Config& foreign) {
  const Config& model = required_key(foreign, "model", "options");
  Config out = Config::map();
  for (const std::string& key : shared_keys()) {
    const Config* value = model.find(key);
    if (value != nullptr && !value->is_null()) out[key] = *value;
  }
  out["llm"] = translate_llm_config(required_key(foreign, "llm_config", "options"));
  translate_perception(required_key(model, "perception", "model"), "fastconformer", out);
  if (const Config* tokens = foreign.find("tokens")) out["tokens"] = *tokens;
  out["loss_normalization"] = Config::scalar("local");
  return out;
}

}  // namespace s2s::stt
