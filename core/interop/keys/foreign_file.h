#pragma once
// Translates files and blocks of other frameworks to our keys. Each format is a table of keys, from
// which core/docs/reference/engine_files.md is printed.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/config_notes.h"
#include "s2s/config.h"
#include "s2s/error.h"
#include "s2s/foreign_keys.h"

namespace s2s::interop {

/// A file or block of another framework, and the configuration that receives its values. Problems
/// become findings: [config/two-values] if the configuration already has another value,
/// [config/engine-key] for unsupported values, [config/unknown-key], [config/choice].
class ForeignFile {
 public:
  /// node: the content. place: its name in messages ("ds.json", "distributed").
  ForeignFile(Config& config, const Config& node, std::string place, Findings& findings,
              ConfigNotes& notes)
      : config(config), findings(findings), notes(notes), node_(node), place_(std::move(place)) {}

  /// Reads each entry by its row. `prefix`: the node's block in the table; "": the whole table.
  void read(ForeignKeys keys, const std::string& prefix = "");
  /// Unknown top-level keys become warnings, because the engine itself ignores them. Similar names
  /// remain errors.
  void pass_unknown_keys() { passes_unknown_ = true; }
  /// Adds one note for all set keys, and one for values that are "auto".
  void add_notes();

  /// A value of the file, or null. `path` is dotted, from the node's top.
  const Config* find(std::string_view path) const { return node_.find_path(path); }
  /// True if the value at `path` is true.
  bool is_true(std::string_view path) const;
  /// The path of a key in messages: "zero_optimization.stage", "distributed.fsdp_config".
  std::string path_of(std::string_view key) const;

  /// Sets our key at `path`, with the origin of `from`. Adds a finding if the configuration has
  /// another value.
  void set(const std::string& path, const Config& value, const Config& from);
  void set(const std::string& path, const std::string& text, const Config& from);
  /// The same, unless the configuration has a value.
  void set_default(const std::string& path, const std::string& text, const Config& from);
  /// trainer.precision. Values of the same dtype (bf16-true, bf16-mixed) do not contradict.
  void set_precision(const std::string& precision, const Config& from);
  /// trainer.strategy.zero_stage from `key`. Reports numbers other than 0 to 3.
  void set_zero_stage(const char* key, const Config& from);
  /// Adds {name: LOGGER, ...} to exp_manager.loggers, unless it has a logger of this name.
  void add_logger(Config logger, const Config& from);
  /// [config/engine-key]: "KEY (origin): VALUE: REASON".
  void refuse(std::string_view key, const Config& value, const std::string& reason);
  void no_effect(std::string_view key, const Config& value, const std::string& reason);

  Config& config;
  Findings& findings;
  ConfigNotes& notes;

 private:
  void read_entry(ForeignKeys keys, const std::string& key, const Config& value);
  void read_unknown(ForeignKeys keys, const std::string& prefix, const std::string& name,
                    const Config& value);

  const Config& node_;
  std::string place_;
  bool passes_unknown_ = false;
  std::vector<std::string> set_, autos_;
};

/// True if a value switches something on: true, a name, a map without `enabled: false`.
bool is_switched_on(const Config& value);
/// The integer value of a scalar: 8, 8.0, "8" and 8e0.
std::optional<int64_t> whole_number(const Config& value);
/// True if two scalars are equal. Compares numbers by value (5e8 and 500000000).
bool says_the_same(const Config& a, const Config& b);

}  // namespace s2s::interop
