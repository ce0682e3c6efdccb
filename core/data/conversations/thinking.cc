#include "conversations/thinking.h"

#include "base/text.h"
#include "conversations/conversation_errors.h"
#include "streams/python_random.h"

namespace s2s::data {
namespace {

constexpr const char* kBegin = "<think>";
constexpr const char* kEnd = "</think>";

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// Returns Python's text.split(mark)[1].
std::string second_part(const std::string& text, const std::string& mark) {
  const std::string rest = text.substr(text.find(mark) + mark.size());
  return rest.substr(0, rest.find(mark));
}

/// What the messages name.
struct Source {
  const std::string& place;
  const std::string& format;
  Error error(const std::string& problem, const std::string& expected) const {
    return conversation_errors::prompt(place, format, problem, expected);
  }
};

/// Marks one of the turns that are not answers; draws the turn, then the side.
class Marks {
 public:
  Marks(std::vector<PromptTurn>& turns, PythonRandom& random, const Source& source)
      : random_(random), source_(source) {
    for (PromptTurn& turn : turns) {
      if (turn.role == "system" || turn.role == "user") asking_.push_back(&turn);
    }
  }

  void write(const std::string& mark) {
    if (asking_.empty()) {
      throw source_.error("no turn of a system or a user", "a question before the answer");
    }
    std::string& text = asking_[random_.choice(asking_.size())]->text;
    text = random_.random() < 0.5 ? text + " " + mark : mark + " " + text;
  }

 private:
  std::vector<PromptTurn*> asking_;
  PythonRandom& random_;
  const Source& source_;
};

void write_last_thought(std::vector<PromptTurn>& turns, PythonRandom& random,
                        const Source& source) {
  Marks marks(turns, random, source);
  std::string& answer = turns.back().text;
  if (!has(answer, kBegin)) {
    if (has(answer, kEnd)) {
      throw source.error("an answer has </think> without <think>",
                         "<think>...</think> at its beginning, or neither");
    }
    answer = kEmptyThought + answer;
    return marks.write("/no_think");
  }
  if (!answer.starts_with(kBegin) || !has(answer, kEnd)) {
    throw source.error("an answer has <think> inside, or no </think>",
                       "<think>...</think> at its beginning, or neither");
  }
  const std::string thought = second_part(answer, kBegin);
  const std::string inside = stripped(thought.substr(0, thought.find(kEnd)));
  std::string said = second_part(answer, kEnd);
  said.erase(0, said.find_first_not_of('\n') == std::string::npos ? said.size()
                                                                  : said.find_first_not_of('\n'));
  answer = std::string(kBegin) + "\n" + inside + "\n" + kEnd + "\n\n" + said;
  if (inside.empty()) return marks.write("/no_think");
  if (random.random() < 0.5) marks.write("/think");
}

}  // namespace

void write_thoughts(std::vector<PromptTurn>& turns, const std::string& format, uint64_t seed,
                    const std::string& place) {
  for (size_t i = 0; i + 1 < turns.size(); ++i) {
    std::string& text = turns[i].text;
    if (turns[i].role == "assistant" && has(text, kEnd)) text = stripped(second_part(text, kEnd));
  }
  if (turns.back().role == "assistant") {
    PythonRandom random(static_cast<int64_t>(seed));
    write_last_thought(turns, random, {place, format});
  }
  const bool has_empty_system =
      turns.front().role == "system" && stripped(turns.front().text).empty();
  if (has_empty_system) turns.erase(turns.begin());
}

}  // namespace s2s::data
