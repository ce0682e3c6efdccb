#pragma once
// Files and blocks of other frameworks, read as ours. Each format is a table of its keys;
// core/docs/reference/engine_files.md is printed from these tables.

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

/// One file or block of another framework, and the configuration that it is read into. Problems
/// become findings: [config/two-values] when the configuration already has another value,
/// [config/engine-key] for what is not implemented, [config/unknown-key], [config/choice].
class ForeignFile {
 public:
  /// node: what the file holds. place: what messages call its top ("ds.json", "distributed").
  ForeignFile(Config& config, const Config& node, std::string place, Findings& findings,
              ConfigNotes& notes)
      : config(config), findings(findings), notes(notes), node_(node), place_(std::move(place)) {}

  /// Reads each entry by its row. `prefix`: the block of the table that the node is; "": all of it.
  void read(ForeignKeys keys, const std::string& prefix = "");
  /// Keys at the top that the engine itself does not read become warnings, unless one of the table
  /// has nearly the same name.
  void pass_unknown_keys() { passes_unknown_ = true; }
  /// One note for what was set, and one for the values that are "auto".
  void add_notes();

  /// A value of the file, or null. `path` is dotted, from the top of the node.
  const Config* find(std::string_view path) const { return node_.find_path(path); }
  /// Whether the file has a true there.
  bool is_true(std::string_view path) const;
  /// The path of a key in messages: "zero_optimization.stage", "distributed.fsdp_config".
  std::string path_of(std::string_view key) const;

  /// Sets our key at `path`, with the origin of `from`. When the configuration has another value,
  /// that is a finding.
  void set(const std::string& path, const Config& value, const Config& from);
  void set(const std::string& path, const std::string& text, const Config& from);
  /// The same, unless the configuration has a value.
  void set_default(const std::string& path, const std::string& text, const Config& from);
  /// trainer.precision. Values of the same dtype (bf16-true, bf16-mixed) do not contradict.
  void set_precision(const std::string& precision, const Config& from);
  /// Adds {name: LOGGER, ...} to exp_manager.loggers, unless one of this name is there.
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

/// Whether a value switches something on: true, a name, a map without `enabled: false`.
bool is_switched_on(const Config& value);
/// The whole number of a scalar: 8, 8.0, "8" and 8e0.
std::optional<int64_t> whole_number(const Config& value);
/// Whether two scalars say the same, numbers by value (5e8 and 500000000).
bool says_the_same(const Config& a, const Config& b);

}  // namespace s2s::interop
