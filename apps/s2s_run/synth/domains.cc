#include "s2s_run/synth/domains.h"

#include <algorithm>
#include <array>
#include <map>

#include "base/text.h"
#include "s2s_run/synth/random.h"
#include "s2s_run/synth/synth_errors.h"

namespace s2s::synth {

namespace {

/// A domain of dialogues. In patterns, `{0}` is the value of the first slot, and `{0.1}` its second
/// form, if the value is written as "first form|second form".
struct Domain {
  const char* name;
  bool in_default_set;
  std::vector<std::vector<const char*>> slots;
  std::array<const char*, kNumPhrasings> questions;
  std::vector<const char*> answer;
};

const std::vector<const char*> kNumbers = {"two",   "three", "four", "five",   "six",     "seven",
                                           "eight", "nine",  "ten",  "twelve", "fifteen", "twenty"};
const std::vector<const char*> kDays = {"monday", "tuesday",  "wednesday", "thursday",
                                        "friday", "saturday", "sunday"};
const std::vector<const char*> kAddends = {"one|1", "two|2",   "three|3", "four|4", "five|5",
                                           "six|6", "seven|7", "eight|8", "nine|9"};

/// The order of values is part of the data set: it determines which combinations are held out.
const std::vector<Domain>& domains() {
  static const std::vector<Domain> all = {
      {"timers",
       true,
       {kNumbers,
        {"seconds", "minutes", "hours"},
        {"pasta", "eggs", "laundry", "bread", "coffee", "garden"}},
       {"set a timer for {0} {1} for the {2}", "i need a {2} timer for {0} {1}"},
       {"the {2} timer", "is set for", "{0} {1}"}},
      {"devices",
       true,
       {{"on", "off"},
        {"light", "heater", "fan", "radio", "speaker", "lamp", "television"},
        {"kitchen", "bedroom", "bathroom", "garage", "hallway", "office", "basement", "nursery"}},
       {"turn {0} the {1} in the {2}", "switch the {2} {1} {0}"},
       {"the {1}", "in the {2}", "is now {0}"}},
      {"weather",
       true,
       {{"paris|it will be sunny", "london|it will be rainy", "berlin|it will be cloudy",
         "madrid|it will be hot", "boston|it will be windy", "chicago|it will be freezing",
         "tokyo|it will be humid", "oslo|it will be snowy", "vienna|it will be mild",
         "dublin|it will be foggy", "denver|it will be dry", "seattle|it will be stormy"},
        {"today", "tonight", "tomorrow", "on friday", "on saturday", "on sunday", "next week"}},
       {"how is the weather in {0} {1}", "what is the {0} forecast {1}"},
       {"{0.1}", "in {0}", "{1}"}},
      {"calls",
       true,
       {{"anna", "bob", "carol", "david", "emma", "frank", "george", "helen", "jack", "kevin",
         "laura", "martin", "nancy", "oliver", "peter", "susan"},
        {"at home", "at work", "at school", "at the hotel", "in the car"}},
       {"please call {0} {1}", "i want to talk to {0} {1}"},
       {"calling {0}", "{1}"}},
      {"hours",
       true,
       {{"library|nine|six", "museum|ten|five", "bakery|seven|three", "pharmacy|eight|eight",
         "market|six|two", "bank|nine|four", "theater|four|eleven", "pool|seven|ten"},
        {"open|opens at", "close|closes at"},
        kDays},
       {"when does the {0} {1} on {2}", "what time will the {0} {1} on {2}"},
       {"the {0}", "{1.1} {0.+1}", "on {2}"}},
      {"sums",
       false,
       {kAddends, kAddends},
       {"what is {0} plus {1}", "how much is {0} plus {1}"},
       {"{0} plus {1}", "is {sum}"}},
  };
  return all;
}

/// The n-th form of a value, or the first form if there are fewer.
std::string form_of(const std::string& value, size_t n) {
  size_t begin = 0;
  for (size_t i = 0; i < n; ++i) {
    const size_t bar = value.find('|', begin);
    if (bar == std::string::npos) return form_of(value, 0);
    begin = bar + 1;
  }
  return value.substr(begin, value.find('|', begin) - begin);
}

std::string sum_word(const Combination& c) {
  static const std::array<const char*, 17> words = {
      "two",      "three",   "four",    "five",      "six",     "seven",
      "eight",    "nine",    "ten",     "eleven",    "twelve",  "thirteen",
      "fourteen", "fifteen", "sixteen", "seventeen", "eighteen"};
  return words.at(c.values.at(0) + c.values.at(1));
}

/// The text for a placeholder: "S", "S.N", "S.+T" (the form selected by slot T's value), or "sum".
std::string slot_text(const Domain& domain, const Combination& c, const std::string& key) {
  if (key == "sum") return sum_word(c);
  const auto slot = static_cast<size_t>(key[0] - '0');
  size_t form = 0;
  if (key.size() == 3) form = static_cast<size_t>(key[2] - '0');
  if (key.size() == 4) form = 1 + c.values.at(static_cast<size_t>(key[3] - '0'));
  return form_of(domain.slots.at(slot).at(c.values.at(slot)), form);
}

std::string fill(const Domain& domain, const Combination& c, const std::string& pattern) {
  std::string text;
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != '{') {
      text += pattern[i];
      continue;
    }
    const size_t close = pattern.find('}', i);
    text += slot_text(domain, c, pattern.substr(i + 1, close - i - 1));
    i = close;
  }
  return text;
}

void add_combinations(size_t domain, std::vector<Combination>& all) {
  const auto& slots = domains()[domain].slots;
  size_t count = 1;
  for (const auto& slot : slots) count *= slot.size();
  for (size_t n = 0; n < count; ++n) {
    Combination c{domain, {}};
    size_t rest = n;
    for (const auto& slot : slots) {
      c.values.push_back(rest % slot.size());
      rest /= slot.size();
    }
    all.push_back(std::move(c));
  }
}

}  // namespace

std::string Exchange::answer() const { return joined(answer_phrases, " "); }

std::vector<std::string> domain_names() {
  std::vector<std::string> names;
  for (const Domain& domain : domains()) names.emplace_back(domain.name);
  return names;
}

std::vector<std::string> default_domains() {
  std::vector<std::string> names;
  for (const Domain& domain : domains()) {
    if (domain.in_default_set) names.emplace_back(domain.name);
  }
  return names;
}

std::vector<Combination> all_combinations(const std::vector<std::string>& names) {
  std::vector<Combination> all;
  for (const std::string& name : names) {
    const auto known = domain_names();
    const auto it = std::find(known.begin(), known.end(), name);
    if (it == known.end()) throw unknown_domain(name, known);
    add_combinations(static_cast<size_t>(it - known.begin()), all);
  }
  return all;
}

Exchange make_exchange(const Combination& c, size_t phrasing) {
  const Domain& domain = domains().at(c.domain);
  Exchange exchange;
  exchange.question = fill(domain, c, domain.questions.at(phrasing));
  for (const char* phrase : domain.answer) {
    exchange.answer_phrases.push_back(fill(domain, c, phrase));
  }
  return exchange;
}

std::vector<bool> choose_held_out(const std::vector<Combination>& all, size_t count,
                                  uint64_t seed) {
  // domain, slot, value -> number of training combinations
  std::map<std::array<size_t, 3>, size_t> uses;
  for (const Combination& c : all) {
    for (size_t s = 0; s < c.values.size(); ++s) ++uses[{c.domain, s, c.values[s]}];
  }
  const auto may_leave = [&](const Combination& c) {
    for (size_t s = 0; s < c.values.size(); ++s) {
      if (uses[{c.domain, s, c.values[s]}] <= 2) return false;
    }
    return true;
  };
  std::vector<size_t> order(all.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  Random random(seed, 0x4E1D);
  random.shuffle(order);
  std::vector<bool> held_out(all.size(), false);
  for (const size_t i : order) {
    if (count == 0) break;
    if (!may_leave(all[i])) continue;
    held_out[i] = true;
    --count;
    for (size_t s = 0; s < all[i].values.size(); ++s) --uses[{all[i].domain, s, all[i].values[s]}];
  }
  return held_out;
}

}  // namespace s2s::synth
