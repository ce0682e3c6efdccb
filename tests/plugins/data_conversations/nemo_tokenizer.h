#pragma once
// The tokenizers of NeMo's reference cases: files of tests/reference/data with the tag added.

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "common/places.h"
#include "plugins/built_plugins.h"
#include "s2s/kinds/tokenizer.h"
#include "s2s/nn/weights.h"

namespace s2s::test {

inline std::string reference_data() { return source_dir() + "/tests/reference/data"; }

/// `special`: ids by role, as the case has them; roles that it lacks get ids that are not used.
inline std::unique_ptr<Tokenizer> nemo_tokenizer(BuiltPlugins& plugins, const std::string& file,
                                                 const nlohmann::json& special,
                                                 const std::string& tag) {
  const nlohmann::json node = {{"name", "hf"},
                               {"path", reference_data() + "/" + file},
                               {"bos_id", special.value("bos", 5)},
                               {"eos_id", special.value("eos", 6)},
                               {"pad_id", special.value("pad", special.value("unk", 7))},
                               {"additional_special_tokens", {tag}}};
  BuildContext context;
  context.path = "model.tokenizer";
  return plugins.create<Tokenizer>(parse_json(node.dump(), "tokenizer"), context);
}

}  // namespace s2s::test
