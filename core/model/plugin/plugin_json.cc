#include "plugin/plugin_json.h"

namespace s2s {

namespace {

nlohmann::ordered_json note_json(const PluginFacts& facts) {
  return {{"api", facts.api},           {"torch", facts.torch},      {"cxx", facts.cxx},
          {"compiler", facts.compiler}, {"cuda", facts.cuda},        {"build", facts.build},
          {"name", facts.name},         {"version", facts.version},  {"license", facts.license},
          {"origin", facts.origin},     {"provides", facts.provides}};
}

}  // namespace

nlohmann::ordered_json plugin_json(const PluginFile& file) {
  nlohmann::ordered_json json = {{"file", file.path}, {"state", state_name(file.state)}};
  if (file.problem) {
    json["problem"] = {{"id", file.problem->id()}, {"message", file.problem->message()}};
  }
  if (file.facts.api != 0) json["note"] = note_json(file.facts);
  return json;
}

}  // namespace s2s
