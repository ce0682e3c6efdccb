#include "config/run_check.h"

#include <algorithm>
#include <set>

#include "config/config_errors.h"
#include "config/interpolation.h"
#include "config/load_config.h"
#include "config/option_check.h"
#include "config/run_config.h"

namespace s2s {

namespace {

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// True for every key that `table`, which must live on, lists at its top.
std::function<bool(const std::string&)> listed_in(const OptionTable& table) {
  return [&table](const std::string& key) {
    return std::any_of(table.begin(), table.end(),
                       [&key](const OptionRow& row) { return row.name == key; });
  };
}

class Walker {
 public:
  Walker(const RunSchema& schema, RunCheck& check)
      : schema_(schema), check_(check), config_(check.config) {}

  void walk(const std::set<std::string>& referenced) {
    walk_top(referenced);
    walk_block("plugins", schema_block("plugins"));
    walk_block("trainer", list_options<TrainerBlock>());
    walk_block("exp_manager", list_options<ExpManagerBlock>());
    walk_model();
    walk_data();
  }

 private:
  /// A block of another name is fine when an interpolation refers to it.
  void walk_top(const std::set<std::string>& referenced) {
    const std::vector<std::string> known = {"plugins", "model", "data", "trainer", "exp_manager"};
    for (const auto& [key, node] : config_.entries()) {
      if (!contains(known, key) && !referenced.contains(key)) {
        check_.findings.add(unknown_key_error(key, "", node, known));
      }
    }
  }

  OptionTable schema_block(const std::string& name) const {
    const auto found = schema_.blocks.find(name);
    return found == schema_.blocks.end() ? OptionTable{} : found->second;
  }

  /// Checks, completes, and goes on to the components below.
  void walk_options(Config& node, const OptionTable& table, const OptionScope& scope) {
    check_options(node, table, scope, check_.findings);
    walk_components(node, table, scope.path);
    complete_options(node, table, scope);
  }

  void walk_block(const std::string& name, const OptionTable& table) {
    if (table.empty() && config_.find(name) == nullptr) return;
    walk_options(config_[name], table, {name, "default of " + name, nullptr, true});
  }

  void walk_components(Config& node, const OptionTable& table, const std::string& path) {
    for (const OptionRow& row : table) {
      const std::string kind = kind_of(row);
      Config* child = row.name.find('.') == std::string::npos ? node.find(row.name) : nullptr;
      if (kind.empty() || child == nullptr || child->is_null() || child->is_missing()) continue;
      if (kind == "optimizer") {
        const OptionTable own = list_options<OptimizerBlock>();
        walk_component(*child, kind, path + "." + row.name, listed_in(own));
        walk_owned(*child, own, path + "." + row.name, kind);
      } else {
        walk_component(*child, kind, path + "." + row.name, nullptr);
      }
    }
  }

  /// Subtrees that say no kind are components when they are called like one and name one.
  std::string kind_of(const OptionRow& row) const {
    if (!row.kind.empty()) return row.kind;
    return row.type == "subtree" && contains(schema_.kinds, row.name) ? row.name : "";
  }

  /// The keys of a component's node that the trainer reads instead.
  void walk_owned(Config& node, const OptionTable& own, const std::string& path,
                  const std::string& source) {
    const OptionScope scope = {path, "default of " + source, [](const auto&) { return true; },
                               true};
    check_options(node, own, scope, check_.findings);
    complete_options(node, own, scope);
  }

  using Known = std::function<bool(const std::string&)>;

  void walk_component(Config& node, const std::string& kind, const std::string& path,
                      const Known& known_elsewhere) {
    if (!node.is_map()) {
      check_.findings.add(type_error(path, node, "a map with the " + kind + "'s name"));
      return;
    }
    const Config* name = node.find("name");
    if (name == nullptr) {
      // A codec that is only described (num_codebooks) is not built.
      if (kind == "codec" && node.find("num_codebooks") != nullptr) return;
      check_.findings.add(missing_key_error(path + ".name", node, "which " + kind));
      return;
    }
    walk_named(node, kind, *name, path, [known_elsewhere](const std::string& key) {
      return key == "name" || (known_elsewhere && known_elsewhere(key));
    });
  }

  /// Options that are translated from a foreign config are checked when that is read.
  void walk_named(Config& node, const std::string& kind, const Config& name,
                  const std::string& path, const Known& known_elsewhere) {
    if (node.find("translate_from") != nullptr) return;
    if (const auto table = table_of(kind, name, path + ".name")) {
      walk_options(node, *table,
                   {path, "default of " + kind + ":" + name.text(), known_elsewhere, true});
    }
  }

  std::optional<OptionTable> table_of(const std::string& kind, const Config& name,
                                      const std::string& name_path) {
    if (is_unresolved(name)) return std::nullopt;
    try {
      return schema_.component(kind, name.as_string(name_path), name, name_path);
    } catch (const Error& error) {
      check_.findings.add(error);
      return std::nullopt;
    }
  }

  void walk_model() {
    Config& model = config_["model"];
    const OptionTable own = list_options<ModelBlock>();
    const Config* type = model.find("type");
    const bool named = type != nullptr && type->is_scalar() && !type->is_missing();
    const auto table = named ? table_of("model", *type, "model.type") : std::nullopt;
    const Known anything = [](const std::string&) { return true; };
    const Known in_own = listed_in(own);
    walk_options(model, own, {"model", "default of model", anything, true});
    if (table) {
      walk_options(model, *table, {"model", "default of model:" + type_text(model), in_own, true});
    }
  }

  static std::string type_text(const Config& model) { return model.find("type")->text(); }

  void walk_data() {
    Config* data = config_.find("data");
    if (data == nullptr || data->is_null()) return;
    const Known known = [this](const std::string& key) {
      return key == "train_ds" || key == "validation_ds" || schema_.blocks.contains("data." + key);
    };
    const OptionTable table = schema_block("data");
    check_options(*data, table, {"data", "", known, true}, check_.findings);
    for (auto& [key, node] : data->entries()) walk_data_block("data." + key, node);
    complete_options(*data, table, {"data", "default of data", known, true});
    walk_validation();
  }

  void walk_data_block(const std::string& path, Config& node) {
    if (node.is_null()) return;
    if (path == "data.train_ds") walk_component(node, "data", path, nullptr);
    const OptionTable table = schema_block(path);
    if (!table.empty()) walk_options(node, table, {path, "default of " + path, nullptr, true});
  }

  /// Each set is completed; a key that all inherit is complained about once.
  void walk_validation() {
    std::vector<ValidationSet> sets;
    try {
      sets = validation_sets(config_);
    } catch (const Error& error) {
      check_.findings.add(error);
    }
    std::set<std::string> seen;
    for (ValidationSet& set : sets) {
      RunCheck own;
      own.config = set.node;
      Walker walker(schema_, own);
      walker.walk_component(own.config, "data", "data.validation_ds.datasets." + set.name, nullptr);
      for (const Error& error : own.findings.errors()) {
        std::string message = error.what();
        const size_t at = message.find("datasets." + set.name);
        if (at != std::string::npos) message.erase(at, 9 + set.name.size());
        if (seen.insert(message).second) check_.findings.add(error);
      }
      *config_["data"]["validation_ds"]["datasets"].find(set.name) = std::move(own.config);
    }
  }

  const RunSchema& schema_;
  RunCheck& check_;
  Config& config_;
};

}  // namespace

RunCheck check_run_config(const Config& config, const RunSchema& schema) {
  RunCheck check;
  check.config = config;
  const std::set<std::string> referenced = interpolation_roots(config);
  resolve_interpolations(check.config, check.findings);
  check.notes = take_keys_without_effect(check.config);
  Walker(schema, check).walk(referenced);
  return check;
}

}  // namespace s2s
