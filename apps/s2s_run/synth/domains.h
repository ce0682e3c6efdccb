#pragma once
// Topics of the dialogues: closed domains whose questions and answers are filled from small tables.

#include <cstdint>
#include <string>
#include <vector>

namespace s2s::synth {

/// One way to fill a domain's slots: for each slot the index of a value.
struct Combination {
  size_t domain = 0;
  std::vector<size_t> values;
  bool operator==(const Combination&) const = default;
};

/// A question and its answer. The answer consists of phrases. Each phrase is synthesized once and
/// placed on the frame grid, so that it always has the same codec tokens.
struct Exchange {
  std::string question;
  std::vector<std::string> answer_phrases;
  std::string answer() const;
};

/// The values of `--domains`.
std::vector<std::string> domain_names();
/// The five domains of the default set. It excludes sums, because small models do not learn them.
std::vector<std::string> default_domains();

/// All combinations of the given domains. Errors: [synth/domain] for an unknown name.
std::vector<Combination> all_combinations(const std::vector<std::string>& domains);

/// Number of phrasings of each question.
constexpr size_t kNumPhrasings = 2;
Exchange make_exchange(const Combination& combination, size_t phrasing);

/// Chooses `count` held-out combinations, in proportion to the domains' sizes, such that every slot
/// value remains in at least two other combinations. -> true for held-out combinations.
std::vector<bool> choose_held_out(const std::vector<Combination>& all, size_t count, uint64_t seed);

}  // namespace s2s::synth
