#include "config/run_check.h"

#include <algorithm>
#include <functional>
#include <set>

#include "base/text.h"
#include "config/config_errors.h"
#include "config/interpolation.h"
#include "config/load_config.h"
#include "config/option_check.h"
#include "config/run_blocks.h"
#include "config/run_findings.h"
#include "config/run_values.h"
#include "config/secrets.h"
#include "config/unknown_keys.h"
#include "config/yaml_reader.h"

namespace s2s {

namespace {

/// True for each top-level key of `table`, which must outlive the result.
std::function<bool(const std::string&)> listed_in(const OptionTable& table) {
  return [&table](const std::string& key) {
    return std::any_of(table.begin(), table.end(),
                       [&key](const OptionRow& row) { return row.name == key; });
  };
}

void append(std::vector<std::string>& list, const std::vector<std::string>& more) {
  list.insert(list.end(), more.begin(), more.end());
}

const std::vector<std::string>& known_blocks() {
  static const std::vector<std::string> kBlocks = {"plugins", "model", "data", "trainer",
                                                   "exp_manager"};
  return kBlocks;
}

class Walker {
 public:
  Walker(const RunSchema& schema, RunCheck& check)
      : schema_(schema), check_(check), config_(check.config) {}

  void walk() {
    walk_top();
    check_needs(check_.written, schema_.purpose, check_.findings);
    walk_block("plugins", schema_block("plugins"));
    walk_block("trainer", list_options<TrainerBlock>());
    walk_block("exp_manager", list_options<ExpManagerBlock>());
    const size_t before_model = count();
    walk_model();
    walk_data();
    check_run_values(check_.written, check_.findings);
    if (schema_.purpose == RunPurpose::kTrain) check_missing(check_.written, check_.findings);
    if (count() == before_model) add_buildable("model", "model");
    unknown_.suggest_places(config_, check_.findings);
  }

 private:
  size_t count() const { return check_.findings.errors().size(); }

  /// A component that depends on a failed interpolation would only repeat its error.
  void add_buildable(const std::string& kind, const std::string& path) {
    const Config* const node = check_.written.find_path(path);
    if (node == nullptr || has_unresolved(*node)) return;
    const Config* const data = check_.written.find("data");
    const bool is_open =
        (data != nullptr && has_unresolved(*data)) || node->find("type") == nullptr;
    if (kind != "model" || !is_open) check_.buildable.push_back(kind);
  }

  /// An unknown block is allowed if an interpolation refers to it.
  void walk_top() {
    const std::vector<std::string>& known = known_blocks();
    for (const auto& [key, node] : config_.entries()) {
      if (contains(known, key)) continue;
      if (!check_.referenced.contains(key) && !off_.take("", key, node, check_.notes)) {
        check_.findings.add(unknown_key_error(key, "", node, known, instead_of("", key, node)));
      }
      remember_secrets(node, key);  // other texts may contain them
      check_.written.erase(key);
    }
  }

  std::string instead_of(const std::string& path, const std::string& key, const Config& value) {
    std::string text = advice_on(schema_.advice, path, key, value);
    if (text.empty()) unknown_.note(check_.findings, path.empty() ? key : path + "." + key);
    return text;
  }

  OptionTable schema_block(const std::string& name) const {
    const auto found = schema_.blocks.find(name);
    return found == schema_.blocks.end() ? OptionTable{} : found->second;
  }

  void check(const Config& node, const OptionTable& table, OptionScope scope) {
    scope.instead = std::bind_front(&Walker::instead_of, this);
    scope.passes = [this](const std::string& path, const std::string& key, const Config& value) {
      return off_.take(path, key, value, check_.notes);
    };
    check_options(node, table, scope, check_.findings);
    off_.erase_from(check_.written);
  }

  /// Checks and completes a block, then the components below it.
  void walk_options(Config& node, const OptionTable& table, const OptionScope& scope) {
    check(node, table, scope);
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
      if (kind == "seed") {
        check_seed(*child, path + "." + row.name);
        continue;
      }
      walk_components_at(*child, kind, path + "." + row.name);
    }
  }

  /// There may be several metrics and loggers.
  void walk_components_at(Config& node, const std::string& kind, const std::string& path) {
    const bool may_be_many = kind == "metric" || kind == "logger";
    if (!may_be_many || !node.is_list()) return walk_component_below(node, kind, path);
    for (size_t i = 0; i < node.items().size(); ++i) {
      walk_component_below(node.items()[i], kind, path + "." + std::to_string(i));
    }
  }

  /// Options of kind "seed" are a number or a way to draw one.
  void check_seed(const Config& node, const std::string& path) {
    const bool drawn = node.is_scalar() && contains({"randomized", "trng"}, node.text());
    const bool number = node.is_scalar() && !node.text().empty() &&
                        node.text().find_first_not_of("0123456789") == std::string::npos;
    if (drawn || number || is_unresolved(node)) return;
    check_.findings.add(type_error(path, node, "a whole number, randomized or trng"));
  }

  void walk_component_below(Config& node, const std::string& kind, const std::string& path) {
    if (kind == "communicator") return walk_communicator(node, path);
    const size_t before = count();
    const OptionTable own = list_options<OptimizerBlock>();
    if (kind == "strategy" && schema_.purpose == RunPurpose::kPlan &&
        node.find("name") == nullptr) {
      walk_options(node, list_options<MeshBlock>(), {path, "default of the mesh", nullptr, true});
    } else {
      walk_component(node, kind, path, kind == "optimizer" ? listed_in(own) : nullptr);
    }
    if (kind == "optimizer") walk_owned(node, own, path, kind);
    const bool is_trainers = path == "model.optimizer" || path == "model.lr_scheduler" ||
                             (kind == "strategy" && schema_.purpose == RunPurpose::kTrain);
    if (is_trainers && count() == before) add_buildable(kind, path);
  }

  /// `auto` selects a communicator by the machine, so only the trainer's own keys are known.
  void walk_communicator(Config& node, const std::string& path) {
    const OptionTable own = list_options<CommunicatorBlock>();
    const Config* name = node.is_map() ? node.find("name") : nullptr;
    if (node.is_map() && (name == nullptr || (name->is_scalar() && name->text() == "auto"))) {
      return walk_options(node, own, {path, "default of " + path, nullptr, true});
    }
    walk_component(node, "communicator", path, listed_in(own));
    if (node.is_map()) walk_owned(node, own, path, path);
  }

  /// A subtree without a declared kind is a component if its key is a kind and it has a name.
  std::string kind_of(const OptionRow& row) const {
    if (!row.kind.empty()) return row.kind;
    return row.type == "subtree" && contains(schema_.kinds, row.name) ? row.name : "";
  }

  /// The keys of a component's node that the trainer reads.
  void walk_owned(Config& node, const OptionTable& own, const std::string& path,
                  const std::string& source) {
    const OptionScope scope = {path, "default of " + source, [](const auto&) { return true; },
                               true};
    check(node, own, scope);
    complete_options(node, own, scope);
  }

  using Known = std::function<bool(const std::string&)>;

  void walk_component(Config& node, const std::string& kind, const std::string& path,
                      const Known& known_elsewhere) {
    if (is_unresolved(node)) return;  // already reported
    if (!node.is_map()) {
      check_.findings.add(type_error(path, node, "a map with the " + kind + "'s name"));
      return;
    }
    const Config* name = node.find("name");
    if (name == nullptr) {
      // A codec of which only num_codebooks is given is not built.
      if (kind == "codec" && node.find("num_codebooks") != nullptr) return;
      check_.findings.add(missing_key_error(path + ".name", node, "which " + kind));
      return;
    }
    walk_named(node, kind, *name, path, [known_elsewhere](const std::string& key) {
      return key == "name" || (known_elsewhere && known_elsewhere(key));
    });
  }

  /// Options that are translated from a foreign config are checked later, when it is read. `name`
  /// is a copy, because adding keys to `node` moves its entries.
  void walk_named(Config& node, const std::string& kind, const Config name, const std::string& path,
                  const Known& known_elsewhere) {
    if (node.find("translate_from") != nullptr) return walk_translated(node, path);
    if (const auto table = table_of(kind, name, path + ".name")) {
      if (Config* written = std::exchange(written_set_, nullptr)) {
        end_set(node, *written, *table, path);
      }
      const OptionScope scope = {path, "default of " + kind + ":" + name.text(), known_elsewhere,
                                 true};
      const std::string source = source_of_defaults(node, *table, kind);
      if (source.empty()) return walk_options(node, *table, scope);
      check(node, *table, scope);
      walk_components(node, *table, path);
      check_.notes.others.push_back(path + ": missing keys are taken from " + source +
                                    ", not from the defaults of " + kind + ":" + name.text());
    }
  }

  /// A component that is translated from a foreign config has no other options.
  void walk_translated(const Config& node, const std::string& path) {
    const std::vector<std::string> known = {"name", "translate_from"};
    for (const auto& [key, child] : node.entries()) {
      if (!contains(known, key)) check_.findings.add(unknown_key_error(key, path, child, known));
    }
  }

  void end_set(Config& set, Config& written, const OptionTable& table, const std::string& path) {
    if (set.find("repeat") == nullptr) end_validation_set(written, table);
    end_validation_set(set, table);
    const Config* repeat = set.find("repeat");
    if (repeat != nullptr && repeat->is_scalar() && repeat->text() == "true") {
      check_.findings.add(validation_repeat_error(path + ".repeat", *repeat));
    }
  }

  std::optional<OptionTable> table_of(const std::string& kind, const Config& name,
                                      const std::string& name_path) {
    if (is_unresolved(name)) return std::nullopt;
    try {
      return schema_.component(kind, name.as_string(name_path), name, name_path);
    } catch (const Error& error) {
      if (is_left_out(schema_.purpose, kind, error)) {
        check_.notes.others.push_back(left_out_note(name_path, kind, name.text()));
      } else {
        check_.findings.add(error);
      }
      return std::nullopt;
    }
  }

  /// `plan` accepts a language model alone, if no other part is configured.
  bool is_language_model_alone(const Config& model, const OptionTable& own) const {
    if (schema_.purpose != RunPurpose::kPlan || model.find("llm") == nullptr) return false;
    const auto known = listed_in(own);
    return model.find("type") == nullptr &&
           std::all_of(model.entries().begin(), model.entries().end(), [&](const auto& entry) {
             return entry.first == "llm" || known(entry.first);
           });
  }

  void walk_model() {
    Config& model = config_["model"];
    const OptionTable own = list_options<ModelBlock>();
    if (is_language_model_alone(model, own)) {
      const Known is_llm = [](const std::string& key) { return key == "llm"; };
      walk_options(model, own, {"model", "default of model", is_llm, false});
      walk_component(*model.find("llm"), "llm", "model.llm", nullptr);
      return;
    }
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
    check(*data, table, {"data", "", known, true});
    for (auto& [key, node] : data->entries()) walk_data_block("data." + key, node);
    complete_options(*data, table, {"data", "default of data", known, true});
    walk_validation();
  }

  /// With multi_config, the keys of a data source that are maps are data sets.
  static Known sets_in(const Config& source) {
    return [&source](const std::string& key) {
      const Config* multi = source.is_map() ? source.find("multi_config") : nullptr;
      const Config* set = source.is_map() ? source.find(key) : nullptr;
      return multi != nullptr && multi->is_scalar() && multi->text() == "true" && set != nullptr &&
             set->is_map();
    };
  }

  void walk_data_block(const std::string& path, Config& node) {
    if (node.is_null()) return;
    if (path == "data.train_ds") walk_component(node, "data", path, sets_in(node));
    const OptionTable table = schema_block(path);
    if (!table.empty()) walk_options(node, table, {path, "default of " + path, nullptr, true});
  }

  /// Completes each set. Reports an inherited key only once.
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
      walker.off_ = off_;
      walker.written_set_ = check_.written["data"]["validation_ds"]["datasets"].find(set.name);
      walker.walk_component(own.config, "data", "data.validation_ds.datasets." + set.name,
                            sets_in(own.config));
      off_ = walker.off_;
      off_.erase_from(check_.written);
      append(check_.notes.without_effect, own.notes.without_effect);
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
  UnknownKeys unknown_;
  SwitchedOff off_;
  Config* written_set_ = nullptr;  // if the walker checks one validation set: the set that is run
};

}  // namespace

bool is_left_out(RunPurpose purpose, const std::string& kind, const Error& error) {
  return error.id() == "plugin/unknown" && !uses_kind(purpose, kind);
}

RunCheck resolve_run_config(const Config& config) {
  RunCheck check;
  check.config = config;
  check.referenced = interpolation_roots(config);
  resolve_interpolations(check.config, check.findings);
  return check;
}

void check_run_config(RunCheck& check, const RunSchema& schema) {
  check.written = check.config;
  Walker(schema, check).walk();
  sort_findings(check.findings);
}

}  // namespace s2s
