// What all formats share: rows, our values, notes.

#include "keys/foreign_file.h"

#include <algorithm>
#include <cmath>

#include "base/number_text.h"
#include "base/text.h"
#include "config/config_errors.h"
#include "config/config_tree.h"
#include "config/yaml_writer.h"

namespace s2s::interop {
namespace {

std::string shown(const Config& value) {
  return value.is_list() ? write_yaml_inline(value) : config_value(value);
}

Error two_values_error(const std::string& path, const Config& ours, const Config& theirs) {
  return {ExitCode::kConfig, "config/two-values",
          config_place(path, ours) + " is " + shown(ours) + ", but the file says " + shown(theirs) +
              " (" + theirs.origin().text() +
              "); expected one value: remove one of them, or write \"auto\" in the file"};
}

/// The names below `prefix`, to suggest the nearest one for an unknown key.
std::vector<std::string> names_below(ForeignKeys keys, const std::string& prefix) {
  std::vector<std::string> names;
  for (const ForeignKey& row : keys) {
    const std::string key(row.key);
    if (!prefix.empty() && !key.starts_with(prefix + ".")) continue;
    std::string name = prefix.empty() ? key : key.substr(prefix.size() + 1);
    name.erase(std::min(name.find('.'), name.size()));
    if (!contains(names, name)) names.push_back(name);
  }
  return names;
}

const ForeignKey* find_row(ForeignKeys keys, const std::string& key) {
  const auto found =
      std::find_if(keys.begin(), keys.end(), [&](const ForeignKey& row) { return row.key == key; });
  return found == keys.end() ? nullptr : &*found;
}

bool is_block(ForeignKeys keys, const std::string& key) {
  return std::any_of(keys.begin(), keys.end(),
                     [&](const ForeignKey& row) { return row.key.starts_with(key + "."); });
}

/// Files use such keys as comments, which JSON lacks.
bool is_comment(const std::string& name) {
  const std::string word = lower(stripped(name, "_/#$ "));
  return name.starts_with("_") || name.starts_with("//") || name.starts_with("#") ||
         word == "comment" || word == "comments";
}

/// True if the option at `path` is a count.
bool is_count(const std::string& path) {
  static const std::vector<std::string> kEnds = {"_steps", "_batches", "_size", ".devices",
                                                 "_nodes", "_stage",   ".seed", "_len"};
  return std::any_of(kEnds.begin(), kEnds.end(),
                     [&](const std::string& end) { return path.ends_with(end); });
}

/// JSON files also write counts as 1e5.
Config plain_number(const std::string& path, const Config& value) {
  if (!value.is_scalar() || value.quoted() || read_number<int64_t>(value.text())) return value;
  const auto number = whole_number(value);
  const bool has_exponent = value.text().find_first_of("eE") != std::string::npos;
  if (!number || !(has_exponent || is_count(path))) return value;
  Config plain = Config::scalar(std::to_string(*number));
  plain.set_origin(value.origin());
  return plain;
}

/// "bf16" of bf16-true, bf16-mixed and bf16.
std::string dtype_of_precision(const std::string& precision) {
  if (precision.starts_with("bf16")) return "bf16";
  return precision.starts_with("16") || precision == "fp16" ? "fp16" : "fp32";
}

}  // namespace

namespace {

/// True if a part of the block at any depth has a switch.
bool has_switch(const Config& value) {
  if (!value.is_map()) return false;
  if (value.find("enabled") != nullptr) return true;
  const auto& entries = value.entries();
  return std::any_of(entries.begin(), entries.end(),
                     [](const auto& entry) { return has_switch(entry.second); });
}

/// For a block without a switch of its own: true if a part with a switch is on.
bool has_part_on(const Config& block) {
  bool has_switches = false;
  for (const auto& [name, part] : block.entries()) {
    if (!has_switch(part)) continue;
    if (is_switched_on(part)) return true;
    has_switches = true;
  }
  return !has_switches && !block.entries().empty();
}

}  // namespace

bool is_switched_on(const Config& value) {
  if (value.is_null()) return false;
  if (value.is_list()) return !value.items().empty();
  if (value.is_map()) {
    const Config* const enabled = value.find("enabled");
    return enabled == nullptr ? has_part_on(value) : is_switched_on(*enabled);
  }
  static const std::vector<std::string> kOff = {"false", "0", "no", "none", "", "off", "auto"};
  return !contains(kOff, lower(value.text()));
}

std::optional<int64_t> whole_number(const Config& value) {
  if (!value.is_scalar()) return std::nullopt;
  if (const auto whole = read_number<int64_t>(value.text())) return whole;
  const auto number = read_number<double>(value.text());
  constexpr double kExact = 9007199254740992.0;  // 2^53
  if (!number || *number != std::floor(*number) || std::abs(*number) > kExact) return std::nullopt;
  return static_cast<int64_t>(*number);
}

bool says_the_same(const Config& a, const Config& b) {
  if (a.is_scalar() && b.is_scalar()) {
    const auto x = read_number<double>(a.text()), y = read_number<double>(b.text());
    return x && y ? *x == *y : a.text() == b.text();
  }
  if (a.is_list() && b.is_list()) {
    return std::equal(a.items().begin(), a.items().end(), b.items().begin(), b.items().end(),
                      says_the_same);
  }
  return a.is_null() && b.is_null();
}

bool ForeignFile::is_true(std::string_view path) const {
  const Config* const found = find(path);
  return found != nullptr && found->is_scalar() && lower(found->text()) == "true";
}

std::string ForeignFile::path_of(std::string_view key) const {
  // A block of the configuration is a part of its paths; a file is named by the origins.
  const bool is_block_here = config.find(place_) != nullptr;
  return is_block_here ? place_ + "." + std::string(key) : std::string(key);
}

void ForeignFile::read(ForeignKeys keys, const std::string& prefix) {
  const Config* const block = prefix.empty() ? &node_ : find(prefix);
  if (block == nullptr || block->is_null()) return;
  if (!block->is_map()) {
    const std::string path = prefix.empty() ? place_ : path_of(prefix);
    return findings.add(type_error(path, *block, "a map"));
  }
  for (const auto& [name, value] : block->entries()) {
    const std::string key = prefix.empty() ? name : prefix + "." + name;
    if (find_row(keys, key) != nullptr) {
      read_entry(keys, key, value);
    } else if (is_block(keys, key)) {
      read(keys, key);
    } else {
      read_unknown(keys, prefix, name, value);
    }
  }
}

void ForeignFile::read_unknown(ForeignKeys keys, const std::string& prefix, const std::string& name,
                               const Config& value) {
  const std::string key = prefix.empty() ? name : prefix + "." + name;
  if (is_comment(name)) return no_effect(key, value, "a comment");
  const bool is_block_of_switch = value.is_map() && value.find("enabled") != nullptr;
  if (is_block_of_switch && !is_switched_on(value)) {
    return no_effect(key, value, "it is switched off");
  }
  const std::vector<std::string> known = names_below(keys, prefix);
  if (passes_unknown_ && prefix.empty() && nearest_name(name, known).empty()) {
    notes.warnings.push_back(config_place(path_of(key), value) +
                             ": neither s2s nor the engine knows this key; it has no effect");
    return;
  }
  findings.add(unknown_key_error(name, prefix.empty() ? place_ : path_of(prefix), value, known));
}

void ForeignFile::read_entry(ForeignKeys keys, const std::string& key, const Config& value) {
  const ForeignKey& row = *find_row(keys, key);
  if (value.is_null()) return;
  if (value.is_scalar() && value.text() == "auto") {
    autos_.push_back(key);
    return;
  }
  if (row.use == KeyUse::kNoEffect) return no_effect(key, value, row.says);
  if (row.use == KeyUse::kOnlyOff) {
    if (is_switched_on(value)) refuse(key, value, row.says);
    return;
  }
  if (row.read != nullptr) return row.read(*this, value);
  set(row.says, value, value);
}

void ForeignFile::add_notes() {
  if (!set_.empty()) notes.others.push_back(place_ + " is read as " + joined(set_, ", "));
  if (!autos_.empty()) {
    notes.others.push_back(place_ +
                           ": \"auto\" takes this configuration's values: " + joined(autos_, ", "));
  }
}

void ForeignFile::set(const std::string& path, const Config& given, const Config& from) {
  const Config value = plain_number(path, given);
  const Config* const ours = config.find_path(path);
  if (ours != nullptr && !ours->is_null()) {
    Config theirs = value;
    theirs.set_origin(from.origin());
    if (!says_the_same(*ours, value)) findings.add(two_values_error(path, *ours, theirs));
    return;
  }
  Config& node = at_path(config, path);
  node = value;
  node.set_origin(from.origin());
  set_.push_back(path + ": " + write_yaml_inline(value));
}

void ForeignFile::set(const std::string& path, const std::string& text, const Config& from) {
  set(path, Config::scalar(text), from);
}

void ForeignFile::set_default(const std::string& path, const std::string& text,
                              const Config& from) {
  const Config* const ours = config.find_path(path);
  if (ours == nullptr || ours->is_null()) set(path, text, from);
}

void ForeignFile::set_precision(const std::string& precision, const Config& from) {
  const Config* const ours = config.find_path("trainer.precision");
  const bool is_same = ours != nullptr && ours->is_scalar() &&
                       dtype_of_precision(ours->text()) == dtype_of_precision(precision);
  if (!is_same) set("trainer.precision", precision, from);
}

void ForeignFile::set_zero_stage(const char* key, const Config& from) {
  const auto stage = whole_number(from);
  if (!stage || *stage < 0 || *stage > 3) {
    return findings.add(choice_error(path_of(key), from, {"0", "1", "2", "3"}));
  }
  if (*stage > 0) set("trainer.strategy.zero_stage", from, from);
}

void ForeignFile::add_logger(Config logger, const Config& from) {
  logger.set_origin(from.origin());
  const std::string name = logger.find("name")->text();
  Config& loggers = at_path(config, "exp_manager.loggers");
  if (!loggers.is_list()) {
    const bool has_one = loggers.is_map() && !loggers.entries().empty();
    loggers = Config::list(has_one ? std::vector<Config>{loggers} : std::vector<Config>());
  }
  for (const Config& item : loggers.items()) {
    const Config* const other = item.is_map() ? item.find("name") : nullptr;
    if (other != nullptr && other->text() == name) return;
  }
  set_.push_back("exp_manager.loggers: [" + write_yaml_inline(logger) + "]");
  loggers.items().push_back(std::move(logger));
}

void ForeignFile::refuse(std::string_view key, const Config& value, const std::string& reason) {
  findings.add(
      Error(ExitCode::kConfig, "config/engine-key",
            config_place(path_of(key), value) + " is " + config_value(value) + "; " + reason));
}

void ForeignFile::no_effect(std::string_view key, const Config& value, const std::string& reason) {
  notes.without_effect.push_back(config_place(path_of(key), value) + ": " + reason);
}

}  // namespace s2s::interop
