#include "s2s/kinds/special_ids.h"

#include <fmt/format.h>

#include <algorithm>

namespace s2s {
namespace {

Error out_of_range(const std::string& place, const std::string& option, int64_t id,
                   int64_t vocab_size, const std::string& owner) {
  return Error(ExitCode::kConfig, "tokenizer/special-ids",
               fmt::format("{}.{} is {}; expected an id of {}, 0 to {}; set another one", place,
                           option, id, owner, vocab_size - 1));
}

Error equal_ids(const std::string& place, const SpecialIds& ids) {
  return Error(
      ExitCode::kConfig, "tokenizer/special-ids",
      fmt::format("{}: bos_id is {}, eos_id {}, pad_id {}; expected three different ids, because "
                  "they have different meanings in the text channel; correct the wrong one",
                  place, ids.bos, ids.eos, ids.pad));
}

}  // namespace

void SpecialIdOptions::visit(OptionVisitor& v, const std::string& turns,
                             const std::string& silence) {
  v("bos_id", bos_id, ("id that starts a turn; null: " + turns).c_str(), at_least(0));
  v("eos_id", eos_id, ("id that ends a turn; null: " + turns).c_str(), at_least(0));
  v("pad_id", pad_id, ("id of silence in the text channel; null: " + silence).c_str(), at_least(0));
}

SpecialIds SpecialIdOptions::choose(const Find& find, int64_t vocab_size, const std::string& place,
                                    const std::string& owner) const {
  std::vector<int64_t> taken;
  const auto choose_one = [&](const char* option, const std::optional<int64_t>& asked) {
    const int64_t id = asked ? *asked : find(option, taken);
    if (id < 0 || id >= vocab_size) throw out_of_range(place, option, id, vocab_size, owner);
    taken.push_back(id);
    return id;
  };
  SpecialIds ids;
  ids.bos = choose_one("bos_id", bos_id);
  ids.eos = choose_one("eos_id", eos_id);
  ids.pad = choose_one("pad_id", pad_id);
  if (ids.bos == ids.eos || ids.bos == ids.pad || ids.eos == ids.pad) throw equal_ids(place, ids);
  return ids;
}

FoundSpecialIds::FoundSpecialIds(const SpecialIdOptions& options,
                                 const SpecialIdOptions::Find& find, int64_t vocab_size,
                                 const std::string& place, const std::string& owner) {
  const auto known_id = [&](const char* option, const std::optional<int64_t>& asked) -> int64_t {
    try {
      const int64_t id = asked ? *asked : find(option, {});
      if (id < 0 || id >= vocab_size) throw out_of_range(place, option, id, vocab_size, owner);
      return id;
    } catch (const NoSpecialId&) {
      return -1;
    }
  };
  try {
    ids_ = {known_id("bos_id", options.bos_id), known_id("eos_id", options.eos_id),
            known_id("pad_id", options.pad_id)};
  } catch (const Error& error) {
    if (options.is_any_set() || error.id() != "tokenizer/special-ids") throw;
    unknown_ = error;
    return;
  }
  const auto known_or_found = [&](const std::string& option, const std::vector<int64_t>& taken) {
    const int64_t id = option == "bos_id" ? ids_.bos : option == "eos_id" ? ids_.eos : ids_.pad;
    return id >= 0 ? id : find(option, taken);
  };
  try {
    options.choose(known_or_found, vocab_size, place, owner);
  } catch (const Error& error) {
    if (error.id() != "tokenizer/special-ids") throw;
    incomplete_ = error;
  }
}

const SpecialIds& FoundSpecialIds::known() const {
  if (unknown_) throw *unknown_;
  return ids_;
}

const SpecialIds& FoundSpecialIds::all() const {
  if (incomplete_) throw *incomplete_;
  return known();
}

NoSpecialId no_special_id(const std::string& place, const std::string& option,
                          const std::string& lack, const std::string& proposal) {
  std::string flag = option;  // the option's name on the command line
  std::replace(flag.begin(), flag.end(), '_', '-');
  const std::string as = proposal.empty() ? "" : ", as " + proposal + " of this file";
  return NoSpecialId(
      ExitCode::kConfig, "tokenizer/special-ids",
      fmt::format("{0}: {1}; expected one, because this kind of model needs it; set {0}.{2} "
                  "to an id that no text uses{3} ('s2s-run tokenizer' has --{4})",
                  place, lack, option, as, flag));
}

}  // namespace s2s
