#include <filesystem>
#include <string>

#include "s2s/nemo.h"
#include "weights/json_file.h"

namespace s2s::nemo {

Config token_ids(const Config& tokenizer) {
  Config ids = Config::map();
  const Config* const path = tokenizer.find("path");
  if (path == nullptr || !path->is_scalar()) return {};
  const std::filesystem::path file = std::filesystem::path(path->text()) / "tokenizer.json";
  if (!std::filesystem::is_regular_file(file)) return {};
  const nlohmann::ordered_json json = read_json_file(file.string());
  const auto vocabulary = json.find("model") == json.end() || !json["model"].contains("vocab")
                              ? nlohmann::ordered_json::object()
                              : json["model"]["vocab"];
  for (const char* role : {"bos", "eos", "pad"}) {
    const Config* const token = tokenizer.find(std::string(role) + "_token");
    if (token == nullptr || !token->is_scalar()) continue;
    const std::string& text = token->text();
    if (vocabulary.is_object() && vocabulary.contains(text)) {
      ids[role] = Config::scalar(vocabulary[text].dump());
    }
    for (const auto& added : json.value("added_tokens", nlohmann::ordered_json::array())) {
      if (added.value("content", "") == text) ids[role] = Config::scalar(added["id"].dump());
    }
  }
  return ids.entries().empty() ? Config() : ids;
}

}  // namespace s2s::nemo
