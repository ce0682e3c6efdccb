#include "s2s_run/synth/text_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/atomic_file.h"
#include "s2s_run/synth/partial_folder.h"
#include "s2s_run/synth/random.h"
#include "s2s_run/synth/set_description.h"

namespace s2s::synth {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

/// Increment when the same options give different data.
constexpr int kTextSetVersion = 1;
constexpr std::array kThings = {"kite", "ball", "hat", "cup", "door", "boat", "bike", "lamp"};
constexpr std::array kColors = {"red", "blue", "green", "black", "white", "brown", "pink", "gray"};
constexpr std::array kWeekdays = {"Monday", "Tuesday",  "Wednesday", "Thursday",
                                  "Friday", "Saturday", "Sunday"};
constexpr std::array<std::pair<const char*, const char*>, 8> kOpposites = {{{"hot", "cold"},
                                                                            {"big", "small"},
                                                                            {"fast", "slow"},
                                                                            {"old", "new"},
                                                                            {"up", "down"},
                                                                            {"early", "late"},
                                                                            {"full", "empty"},
                                                                            {"open", "closed"}}};

struct TextPair {
  std::string prompt;
  std::string response;
};

/// Answers copy two slots: combinations that training never saw show whether that is learned.
std::vector<TextPair> slot_questions() {
  std::vector<TextPair> all;
  for (const char* thing : kThings) {
    for (const char* color : kColors) {
      all.push_back({fmt::format("My {} is {}. What color is my {}?", thing, color, thing),
                     fmt::format("Your {} is {}.", thing, color)});
    }
  }
  return all;
}

std::vector<TextPair> table_questions() {
  std::vector<TextPair> all;
  for (size_t i = 0; i < kWeekdays.size(); ++i) {
    const char* next = kWeekdays[(i + 1) % kWeekdays.size()];
    all.push_back(
        {fmt::format("Which day comes after {}?", kWeekdays[i]), fmt::format("{}.", next)});
    all.push_back(
        {fmt::format("Which day comes before {}?", next), fmt::format("{}.", kWeekdays[i])});
  }
  for (const auto& [word, opposite] : kOpposites) {
    all.push_back({fmt::format("What is the opposite of {}?", word), fmt::format("{}.", opposite)});
    all.push_back({fmt::format("What is the opposite of {}?", opposite), fmt::format("{}.", word)});
  }
  for (int a = 0; a < 10; ++a) {
    for (int b = 0; b < 10; ++b) {
      all.push_back({fmt::format("What is {} plus {}?", a, b), fmt::format("{}.", a + b)});
    }
  }
  return all;
}

/// DealtPairs of training, and those that it never sees.
struct DealtPairs {
  std::vector<TextPair> training, held_out;
};

DealtPairs deal_out(uint64_t seed) {
  DealtPairs dealt;
  Random random(seed, 1);
  std::vector<TextPair> slots = slot_questions();
  random.shuffle(slots);
  const auto num_held_out = static_cast<std::ptrdiff_t>(slots.size() / 8);
  dealt.held_out.assign(slots.begin(), slots.begin() + num_held_out);
  dealt.training = table_questions();
  dealt.training.insert(dealt.training.end(), slots.begin() + num_held_out, slots.end());
  return dealt;
}

std::string pair_lines(const std::vector<TextPair>& from, size_t count, Random random) {
  std::string lines;
  for (size_t i = 0; i < count; ++i) {
    const TextPair& one = from[random.below(from.size())];
    const Json line = {{"prompt", one.prompt + "\n"}, {"response", one.response}};
    lines += line.dump() + "\n";
  }
  return lines;
}

/// Chats of one to three exchanges.
std::string chat_lines(const std::vector<TextPair>& from, size_t count, Random random) {
  std::string lines;
  for (size_t i = 0; i < count; ++i) {
    Json messages = Json::array();
    for (int64_t turns = random.between(1, 3); turns > 0; --turns) {
      const TextPair& one = from[random.below(from.size())];
      messages.push_back({{"role", "user"}, {"content", one.prompt}});
      messages.push_back({{"role", "assistant"}, {"content", one.response}});
    }
    lines += Json{{"messages", std::move(messages)}}.dump() + "\n";
  }
  return lines;
}

std::pair<size_t, size_t> sizes_of(Size size) {
  switch (size) {
    case Size::kTiny:
      return {256, 16};
    case Size::kQuick:
      return {4096, 64};
    case Size::kFull:
      break;
  }
  return {32768, 256};
}

}  // namespace

SetSummary make_text_set(const fs::path& folder, const SetOptions& options) {
  const Json settings = {{"version", kTextSetVersion},
                         {"kind", "text"},
                         {"size", size_name(options.size)},
                         {"seed", options.seed}};
  SetSummary summary{folder, false, {}, 0};
  if (find_existing(folder, settings, summary)) return summary;
  const DealtPairs dealt = deal_out(options.seed);
  const auto [num_training, num_held_out] = sizes_of(options.size);
  PartialFolder partial(folder);
  const auto write = [&](const std::string& split, const std::string& lines) {
    write_file_atomically((partial.path() / (split + ".jsonl")).string(), lines);
    summary.cuts[split] = static_cast<size_t>(std::count(lines.begin(), lines.end(), '\n'));
  };
  write("train", pair_lines(dealt.training, num_training, Random(options.seed, 2)));
  write("dev", pair_lines(dealt.held_out, num_held_out, Random(options.seed, 3)));
  write("chat", chat_lines(dealt.training, num_training, Random(options.seed, 4)));
  write("chat_dev", chat_lines(dealt.held_out, num_held_out, Random(options.seed, 5)));
  std::string texts;
  for (const TextPair& one : dealt.training) texts += one.prompt + " " + one.response + "\n";
  write_file_atomically((partial.path() / "texts.txt").string(), texts);
  write_description(partial.path(), settings, summary);
  partial.commit();
  return summary;
}

}  // namespace s2s::synth
