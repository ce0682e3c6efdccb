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

  /// True if one of the options is set.
  bool is_any_set() const { return bos_id || eos_id || pad_id; }
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

/// A special id that nothing defines.
class NoSpecialId : public Error {
 public:
  using Error::Error;
};

/// [tokenizer/special-ids] for an `option` that neither the config nor the files define. `lack`:
/// the reason ("the model 'x' has no bos_id of its own"); `proposal`: an id of the files, or "".
NoSpecialId no_special_id(const std::string& place, const std::string& option,
                          const std::string& lack, const std::string& proposal = "");

/// The special ids of a tokenizer that is read from files. Missing and equal ids are errors only
/// where all three are asked for: a text alone needs none, a document of text no BOS.
class FoundSpecialIds {
 public:
  FoundSpecialIds() = default;
  /// Arguments as for SpecialIdOptions::choose. Errors: if an option is set,
  /// [tokenizer/special-ids] for an id outside 0 to vocab_size - 1, and those of `find` other than
  /// NoSpecialId.
  FoundSpecialIds(const SpecialIdOptions& options, const SpecialIdOptions::Find& find,
                  int64_t vocab_size, const std::string& place, const std::string& owner);

  /// Tokenizer::special_ids(). Errors: [tokenizer/special-ids].
  const SpecialIds& all() const;
  /// Tokenizer::known_special_ids(). Errors: [tokenizer/special-ids] for files that contradict
  /// themselves.
  const SpecialIds& known() const;
  /// True for an id that is one of them. Never throws.
  bool contains(int64_t id) const { return id == ids_.bos || id == ids_.eos || id == ids_.pad; }

 private:
  SpecialIds ids_;
  std::optional<Error> unknown_;     // why known() has none
  std::optional<Error> incomplete_;  // why all() has none
};

}  // namespace s2s
