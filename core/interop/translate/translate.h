#pragma once
// Turns configurations of other frameworks into ours. This is one step between reading a
// configuration and checking it: nothing is called back.

#include <string>

#include "s2s/foreign_class.h"

namespace s2s::interop {

/// Turns what other frameworks call differently into our keys, and removes what has no effect, with
/// a note for each. Interpolations are resolved. Errors: added to the findings; [config/nemo-class]
/// and [weights/config] for a whole configuration that nothing here reads.
void translate_config(ConfigTranslation& translation);

/// The tables of all formats as Markdown, for the documentation.
std::string foreign_keys_page();

}  // namespace s2s::interop
