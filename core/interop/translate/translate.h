#pragma once
// Translates configurations of other frameworks. This is one step between reading a configuration
// and checking it, without callbacks.

#include <string>

#include "s2s/foreign_class.h"

namespace s2s::interop {

/// Translates keys of other frameworks, and removes those without effect, with a note for each.
/// Interpolations must be resolved. Errors: added to the findings; [config/nemo-class] and
/// [weights/config] if nothing here reads the configuration.
void translate_config(ConfigTranslation& translation);

/// The tables of all formats as Markdown, for the documentation.
std::string foreign_keys_page();

}  // namespace s2s::interop
