#pragma once
// What is talked about: closed domains whose questions and answers are filled from small tables.

#include <cstdint>
#include <string>
#include <vector>

namespace s2s::synth {

/// One way to fill a domain's slots: the index of a value for each slot.
struct Combination {
  size_t domain = 0;
  std::vector<size_t> values;
  bool operator==(const Combination&) const = default;
};

/// A question and its answer. The answer comes in phrases, because each phrase is spoken once and
/// placed on the frame grid, so that the same phrase always gives the same codec tokens.
struct Exchange {
  std::string question;
  std::vector<std::string> answer_phrases;
  std::string answer() const;
};

/// Names for `--domains`.
std::vector<std::string> domain_names();
/// The five domains of the default set; sums are left out, because small models never learn them.
std::vector<std::string> default_domains();

/// All combinations of the named domains. Errors: [synth/domain] for a name that is not known.
std::vector<Combination> all_combinations(const std::vector<std::string>& domains);

/// Number of ways in which every question can be asked.
constexpr size_t kNumPhrasings = 2;
Exchange make_exchange(const Combination& combination, size_t phrasing);

/// Chooses `count` combinations, in proportion to the domains' sizes, such that every slot value
/// stays in at least two of the others.  -> true for those that are held out.
std::vector<bool> choose_held_out(const std::vector<Combination>& all, size_t count, uint64_t seed);

}  // namespace s2s::synth
