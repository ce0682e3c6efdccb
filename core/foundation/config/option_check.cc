#include "config/option_check.h"

#include <algorithm>

#include "config/config_errors.h"
#include "config/interpolation.h"
#include "config/option_values.h"
#include "config/yaml_reader.h"

namespace s2s {

namespace {

/// The rows directly below `prefix`, named without it.
std::vector<std::pair<std::string, const OptionRow*>> rows_below(const OptionTable& table,
                                                                 const std::string& prefix) {
  std::vector<std::pair<std::string, const OptionRow*>> rows;
  for (const OptionRow& row : table) {
    if (!row.name.starts_with(prefix)) continue;
    std::string name = row.name.substr(prefix.size());
    if (name.find('.') == std::string::npos) rows.emplace_back(std::move(name), &row);
  }
  return rows;
}

bool is_default(const OptionRow& row, const Config& node) {
  return !row.bounds.required && node.is_scalar() &&
         node.text() == parse_yaml_value(row.value, node.origin()).text();
}

class Checker {
 public:
  Checker(const OptionTable& table, const OptionScope& scope, Findings& findings)
      : table_(table), scope_(scope), findings_(findings) {}

  void check_map(const Config& node, const std::string& prefix, const std::string& path) {
    if (node.is_missing()) return findings_.add(missing_value_error(path, node));
    if (!node.is_map()) return findings_.add(type_error(path, node, "a map of options"));
    const auto rows = rows_below(table_, prefix);
    for (const auto& [key, child] : node.entries())
      check_key(key, child, rows, path, prefix.empty());
    for (const auto& [name, row] : rows) {
      if (row->bounds.required && scope_.check_required && node.find(name) == nullptr) {
        findings_.add(missing_key_error(path + "." + name, node, row->doc));
      }
    }
  }

 private:
  using Rows = std::vector<std::pair<std::string, const OptionRow*>>;

  void check_key(const std::string& key, const Config& child, const Rows& rows,
                 const std::string& path, bool is_top) {
    const auto found =
        std::find_if(rows.begin(), rows.end(), [&](const auto& row) { return row.first == key; });
    if (found != rows.end()) return check_row(*found->second, child, path + "." + key);
    if (is_top && scope_.known_elsewhere && scope_.known_elsewhere(key)) return;
    if (scope_.passes && scope_.passes(path, key, child)) return;
    std::vector<std::string> known;
    for (const auto& [name, row] : rows) known.push_back(name);
    const std::string instead = scope_.instead ? scope_.instead(path, key, child) : "";
    findings_.add(unknown_key_error(key, path, child, known, instead));
  }

  void check_row(const OptionRow& row, const Config& node, const std::string& path) {
    if (is_unresolved(node)) return;  // already reported
    if (row.type == kGroupType) {
      if (!node.is_null()) check_map(node, row.name + ".", path);
    } else if (row.type == kGroupListType) {
      check_list(row, node, path);
    } else {
      check_value(row.type, {node, path, row.bounds}, findings_);
      if (!is_default(row, node)) check_program({node, path, row.bounds}, findings_);
    }
  }

  void check_list(const OptionRow& row, const Config& node, const std::string& path) {
    if (node.is_missing()) return findings_.add(missing_value_error(path, node));
    if (!node.is_list() && !node.is_null()) {
      return findings_.add(type_error(path, node, "a list of maps"));
    }
    for (size_t i = 0; i < node.items().size(); ++i) {
      check_map(node.items()[i], row.name + "[].", path + "." + std::to_string(i));
    }
  }

  const OptionTable& table_;
  const OptionScope& scope_;
  Findings& findings_;
};

class Completer {
 public:
  Completer(const OptionTable& table, const OptionScope& scope) : table_(table) {
    origin_.source = scope.source;
  }

  void complete_map(Config& node, const std::string& prefix) {
    if (!node.is_map() && !node.is_null()) return;
    for (const auto& [name, row] : rows_below(table_, prefix)) {
      Config* child = node.find(name);
      if (row->type == kGroupType) {
        if (child == nullptr) add(node, name, Config::map());
        if (!node.find(name)->is_null()) complete_map(*node.find(name), row->name + ".");
      } else if (child == nullptr) {
        add(node, name,
            row->bounds.required ? Config::scalar("???") : parse_yaml_value(row->value, origin_));
      } else if (row->type == kGroupListType) {
        for (Config& item : child->items()) complete_map(item, row->name + "[].");
      }
    }
  }

 private:
  void add(Config& node, const std::string& name, Config value) {
    value.set_origin(origin_);
    node[name] = std::move(value);
  }

  const OptionTable& table_;
  Origin origin_;
};

}  // namespace

void check_options(const Config& node, const OptionTable& table, const OptionScope& scope,
                   Findings& findings) {
  if (node.is_null()) {
    Config empty = Config::map();
    empty.set_origin(node.origin());
    return Checker(table, scope, findings).check_map(empty, "", scope.path);
  }
  Checker(table, scope, findings).check_map(node, "", scope.path);
}

std::string source_of_defaults(const Config& node, const OptionTable& table,
                               const std::string& kind) {
  for (const OptionRow& row : table) {
    const Config* written = node.find(row.name);
    if (written == nullptr || !written->is_scalar()) continue;
    const bool is_folder = kind == "llm" && row.name == "path";
    const bool is_preset =
        row.name == "preset" && written->text() != parse_yaml_value(row.value, {}).text();
    if (is_folder || is_preset) return row.name + " " + written->text();
  }
  return "";
}

void complete_options(Config& node, const OptionTable& table, const OptionScope& scope) {
  Completer(table, scope).complete_map(node, "");
}

}  // namespace s2s
