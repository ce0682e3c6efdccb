#pragma once
// How the turns of a conversation become the prompt of a language model. The plugin of a language
// model brings its formats (Component::prompt_formats); data sets and models name them.

#include <string>
#include <vector>

#include "s2s/data/fingerprint.h"

namespace s2s {

/// What is around the text of a role. BOS and EOS are ids, never text.
struct RoleTemplate {
  std::string role;  // system, user, assistant
  std::string before, after;
  bool has_bos = false, has_eos = false;
};

/// A format. Source: NeMo collections/common/prompts.
struct PromptFormat {
  std::string name;
  std::vector<RoleTemplate> roles;
  std::string preamble = {};      // text at the beginning
  std::string answer_begin = {};  // text after an open conversation
  bool has_bos = false;           // at the beginning
  bool has_eos = false;           // after a conversation that ends with an answer
  bool counts_last_only = false;  // the loss
  bool has_thoughts = false;      // answers begin with "<think>...</think>"
  /// Around the system's text, which the first turn then begins with; "": a turn of its own.
  std::string system_before = {}, system_after = {};
};

}  // namespace s2s
