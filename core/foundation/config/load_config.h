#pragma once
// A run's configuration: a YAML file, changed by the command line, with interpolations resolved.

#include <string>
#include <vector>

#include "s2s/config.h"

namespace s2s {

/// Reads a file. Errors: [config/no-file] with the nearest name in its folder, [config/unreadable],
/// [config/syntax], [config/duplicate-key], [config/type] when the top level is not a map.
Config load_config(const std::string& path);

/// Applies `key=value` words in their order; the values are YAML.
///   a.b.c=3      sets a value; a map given for a map is merged into it; missing maps are made
///   +a.b.c=3     the same (Hydra's spelling for a new key), and so is ++a.b.c=3
///   ~a.b         removes a key or a list's item
///   a.0.b=3      indexes a list (a[0].b, too); the index one past the end appends
/// Keys that nobody knows are found later, when options are read.
/// Errors: [config/override] with the word and what is wrong with it.
void apply_overrides(Config& config, const std::vector<std::string>& overrides);

/// Replaces every `${...}`: `${a.b}` an absolute dotted path, `${.b}` beside the value itself,
/// `${..b}` one level further out, `${oc.env:NAME}` or `${oc.env:NAME,default}` the environment.
/// A value that is nothing but one interpolation takes the target's type or tree; inside longer
/// text the target has to be a scalar. `\${` stands for `${` itself.
/// Errors: [config/interpolation], [config/interpolation-cycle], [config/missing] for a `???` in
/// the middle of a text.
void resolve_interpolations(Config& config);

/// All three steps.
Config load_effective_config(const std::string& path, const std::vector<std::string>& overrides);

/// YAML of a resolved config, for the run folder; `load_config` and `resolve_interpolations` give
/// an equal tree back in the same environment, but for secrets, which are not in it (secrets.h).
std::string effective_text(const Config& config);

}  // namespace s2s
