#pragma once
// Special ids of tokenizers that are read from files: options to set them, and checks.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "s2s/error.h"
#include "s2s/kinds/tokenizer.h"
#include "s2s/options.h"

namespace s2s {

/// The options `bos_id`, `eos_id` and `pad_id`; null: use the value from the tokenizer's files.
/// Option structs derive from this.
struct SpecialIdOptions {
  std::optional<int64_t> bos_id;
  std::optional<int64_t> eos_id;
  std::optional<int64_t> pad_id;

  /// Call this from the `visit` of the derived struct. `turns`, `silence`: the documented default
  /// of BOS and EOS, and of PAD ("the model's").
  void visit(OptionVisitor& v, const std::string& turns, const std::string& silence);

  /// Returns the id that the files define for an option ("bos_id"); `taken`: the ids chosen so far.
  using Find = std::function<int64_t(const std::string& option, const std::vector<int64_t>& taken)>;
  /// Returns the configured ids, and for each other one the result of `find`, in the order BOS,
  /// EOS, PAD. `place`: of the options in the config; `owner`: of the ids, in messages ("the
  /// model").
  /// Errors: [tokenizer/special-ids] for an id outside 0 to vocab_size - 1 and for equal ids; those
  /// of `find`.
  SpecialIds choose(const Find& find, int64_t vocab_size, const std::string& place,
                    const std::string& owner) const;
};

/// [tokenizer/special-ids] for an `option` that neither the config nor the files define. `lack`:
/// the reason ("the model 'x' has no bos_id of its own"); `proposal`: an id of the files, or "".
Error no_special_id(const std::string& place, const std::string& option, const std::string& lack,
                    const std::string& proposal = "");

}  // namespace s2s
