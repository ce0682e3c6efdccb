#include "plugin/plugin_facts.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <sstream>

#include "s2s/data/fingerprint.h"

namespace s2s {

namespace {

std::string printable(std::string text) {
  for (char& c : text) {
    if (c != '\n' && (c < ' ' || c > '~')) c = '?';
  }
  return text;
}

/// If the file was not made by S2S_PLUGIN, a field may lack the terminating zero byte.
template <size_t N>
std::string field_text(const char (&field)[N]) {
  return printable(std::string(field, strnlen(field, N)));
}

std::vector<std::string> split_lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    if (!line.empty()) lines.push_back(line);
  }
  return lines;
}

/// Not a kind: lines with it name what a language model reads.
constexpr const char* kModelType = "model_type";

std::vector<ComponentId> valid_lines(const PluginFacts& facts) {
  std::vector<ComponentId> ids;
  for (const std::string& line : facts.provides) {
    if (std::optional<ComponentId> id = parse_component_id(line)) ids.push_back(*std::move(id));
  }
  return ids;
}

std::string major_of(const std::string& version) { return version.substr(0, version.find('.')); }

}  // namespace

PluginFacts read_facts(const PluginNote& note) {
  PluginFacts facts;
  facts.api = note.api;
  facts.torch = field_text(note.torch);
  facts.cxx = field_text(note.cxx);
  facts.compiler = field_text(note.compiler);
  facts.cuda = field_text(note.cuda);
  facts.build = field_text(note.build);
  facts.name = field_text(note.name);
  facts.version = field_text(note.version);
  facts.license = field_text(note.license);
  facts.origin = field_text(note.origin);
  facts.provides = split_lines(field_text(note.provides));
  return facts;
}

PluginFacts read_facts(const PluginFileNote& file) {
  PluginFacts facts = read_facts(file.note);
  if (file.data_headers) facts.data_headers = printable(*file.data_headers);
  return facts;
}

PluginFacts host_facts() {
  PluginFacts facts;
  facts.api = S2S_PLUGIN_API;
  facts.torch = S2S_TORCH_VERSION_TEXT;
  facts.cxx = S2S_CXX_ABI_TEXT;
  facts.compiler = S2S_COMPILER_TEXT;
  facts.cuda = S2S_CUDA_TEXT;
  facts.build = S2S_BUILD_TEXT;
  facts.data_headers = S2S_DATA_FINGERPRINT;
  return facts;
}

std::vector<AbiDifference> compare_abi(const PluginFacts& plugin, const PluginFacts& host) {
  std::vector<AbiDifference> differences;
  const auto compare = [&](const char* field, const std::string& a, const std::string& b) {
    if (a != b) differences.push_back({field, a, b});
  };
  compare("api", std::to_string(plugin.api), std::to_string(host.api));
  compare("torch", plugin.torch, host.torch);
  compare("c++", plugin.cxx, host.cxx);
  if (!plugin.cuda.empty() && !host.cuda.empty() && major_of(plugin.cuda) != major_of(host.cuda)) {
    differences.push_back({"cuda", plugin.cuda, host.cuda});
  }
  if (plugin.data_headers && host.data_headers) {
    compare("data", "headers=" + *plugin.data_headers, "headers=" + *host.data_headers);
  }
  return differences;
}

std::vector<std::string> field_findings(const PluginFacts& facts) {
  std::vector<std::string> findings;
  if (facts.name.empty()) findings.emplace_back("name is empty");
  if (facts.version.empty()) findings.emplace_back("version is empty");
  if (facts.license.empty()) findings.emplace_back("license is empty");
  if (facts.provides.empty()) findings.emplace_back("provides is empty, expected kind:name");
  const std::vector<std::string> kinds = kind_names();
  const std::vector<ComponentId> ids = provided_ids(facts);
  const auto num_llms =
      std::count_if(ids.begin(), ids.end(), [](const ComponentId& id) { return id.kind == "llm"; });
  std::set<std::string> seen;
  for (const std::string& line : facts.provides) {
    const std::optional<ComponentId> id = parse_component_id(line);
    if (!id) {
      findings.push_back("provides '" + line +
                         "', expected kind:name with a name of a-z, 0-9 and _, or vendor.name");
    } else if (id->kind == kModelType) {
      if (num_llms != 1) {
        findings.push_back("provides '" + line + "', which needs exactly one llm:NAME beside it");
      }
    } else if (std::find(kinds.begin(), kinds.end(), id->kind) == kinds.end()) {
      findings.push_back("provides '" + line + "', but there is no kind '" + id->kind + "'");
    }
    if (!seen.insert(line).second) findings.push_back("provides '" + line + "' twice");
  }
  return findings;
}

std::vector<ComponentId> provided_ids(const PluginFacts& facts) {
  std::vector<ComponentId> ids = valid_lines(facts);
  std::erase_if(ids, [](const ComponentId& id) { return id.kind == kModelType; });
  return ids;
}

std::vector<std::string> model_types_of(const PluginFacts& facts) {
  std::vector<std::string> names;
  for (const ComponentId& id : valid_lines(facts)) {
    if (id.kind == kModelType) names.push_back(id.name);
  }
  return names;
}

std::string abi_text(const PluginFacts& facts) {
  return "api " + std::to_string(facts.api) + ", torch " + facts.torch + ", " + facts.cxx;
}

}  // namespace s2s
