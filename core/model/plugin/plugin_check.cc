#include "plugin/plugin_check.h"

#include <algorithm>
#include <set>

#include "config/yaml_reader.h"
#include "plugin/elf_note.h"
#include "plugin/plugin_errors.h"

namespace s2s {

namespace {

std::string check_note(PluginCheckState& state) {
  state.file.path = state.path;
  state.file.facts = read_facts(read_plugin_note(state.path));
  const std::vector<std::string> findings = field_findings(state.file.facts);
  if (!findings.empty()) throw fields_error(state.path, findings);
  state.file.provides = provided_ids(state.file.facts);
  const PluginFacts& facts = state.file.facts;
  return facts.name + " " + facts.version + ", " + facts.license + ", " +
         join_ids(state.file.provides);
}

std::string check_abi(PluginCheckState& state) {
  const auto differences = compare_abi(state.file.facts, host_facts());
  if (!differences.empty()) throw abi_error(state.path, state.file.facts, differences);
  return abi_text(state.file.facts);
}

std::string check_symbols(PluginCheckState& state) {
  state.function = open_plugin(state.file);
  return "";
}

std::string check_registration(PluginCheckState& state) {
  run_registration(state.function, state.file, state.staging);
  check_provides(state.file, state.staging);
  return join_ids(registered_ids(state.staging));
}

template <class T>
void check_component(const Component<T>& component, std::vector<std::string>& findings,
                     size_t& count) {
  const ComponentId id{KindName<T>::value, component.name};
  if (component.create == nullptr) findings.push_back(id.text() + " has no `create`");
  if (component.summary.empty()) findings.push_back(id.text() + " has no summary");
  if (component.options == nullptr) {
    findings.push_back(id.text() + " has no `options`");
    return;
  }
  const OptionTable table = component.options();
  count += table.size();
  for (std::string& finding : option_findings(id, table)) findings.push_back(std::move(finding));
}

std::string check_options(PluginCheckState& state) {
  std::vector<std::string> findings;
  size_t count = 0;
  for_each_kind([&]<class T>() {
    for (const auto& [name, component] : state.staging.of<T>().entries()) {
      check_component(component, findings, count);
    }
  });
  if (!findings.empty()) throw component_error(findings);
  return std::to_string(count) + (count == 1 ? " option" : " options");
}

bool within(const std::string& text, const Bounds& bounds) {
  try {
    size_t used = 0;
    const double number = std::stod(text, &used);
    return used != text.size() || (number >= bounds.min && number <= bounds.max);
  } catch (const std::exception&) {
    return true;  // not a number, so there is nothing to compare
  }
}

/// Returns true when the default, or each item of a list default, is one of the choices.
bool is_choice(const OptionRow& row) {
  const auto& choices = row.bounds.choices;
  if (choices.empty() || row.type.ends_with("?")) return true;
  const auto is_one = [&](const std::string& text) {
    return std::find(choices.begin(), choices.end(), text) != choices.end();
  };
  if (!row.type.starts_with("list of ")) return is_one(row.value);
  const Config list = parse_yaml_value(row.value, {});
  return std::all_of(list.items().begin(), list.items().end(),
                     [&](const Config& item) { return is_one(item.text()); });
}

}  // namespace

std::vector<PluginCheck> plugin_file_checks() {
  return {{"note readable, fields filled", "reading the note", check_note},
          {"ABI equal", "comparing the ABI", check_abi},
          {"all symbols resolve", "loading", check_symbols},
          {"registers exactly what it declares", "registering", check_registration},
          {"options parse, defaults valid", "listing its options", check_options}};
}

std::vector<std::string> option_findings(const ComponentId& id, const OptionTable& table) {
  std::vector<std::string> findings;
  std::set<std::string> seen;
  for (const OptionRow& row : table) {
    const std::string option = id.text() + " option '" + row.name + "' ";
    if (!seen.insert(row.name).second) findings.push_back(option + "is listed twice");
    if (row.doc.empty()) findings.push_back(option + "has no doc");
    if (!is_choice(row))
      findings.push_back(option + "has the default '" + row.value + "', not a choice");
    if (!within(row.value, row.bounds)) {
      findings.push_back(option + "has the default " + row.value + ", outside its bounds");
    }
  }
  return findings;
}

}  // namespace s2s
