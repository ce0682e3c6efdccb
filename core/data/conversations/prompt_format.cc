#include "conversations/prompt_format.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.h"
#include "conversations/conversation_errors.h"
#include "conversations/thinking.h"

namespace s2s::data {
namespace {

std::vector<PromptTurn> joined(std::vector<PromptTurn> turns) {
  std::vector<PromptTurn> out;
  for (PromptTurn& turn : turns) {
    if (!out.empty() && out.back().role == turn.role) {
      out.back().text += " " + turn.text;
    } else {
      out.push_back(std::move(turn));
    }
  }
  return out;
}

/// Appends turns to a prompt.
class PromptWriter {
 public:
  PromptWriter(const PromptFormat& format, const Tokenizer& tokenizer, const std::string& place)
      : format_(format), tokenizer_(tokenizer), place_(place) {}

  void add_text(const std::string& text, bool counts) {
    for (const int64_t id : tokenizer_.encode(text)) add(id, counts);
  }

  void add_turn(const PromptTurn& turn, bool counts) {
    const RoleTemplate& form = role(turn.role);
    if (form.has_bos) add_bos(counts);
    add_text(form.before + turn.text + form.after, counts);
    if (form.has_eos) add_eos(counts);
  }

  void add_bos(bool counts) { add(special(tokenizer_.known_special_ids().bos, "BOS"), counts); }
  void add_eos(bool counts) { add(special(tokenizer_.known_special_ids().eos, "EOS"), counts); }
  EncodedPrompt take() { return std::move(out_); }

 private:
  void add(int64_t id, bool counts) {
    out_.ids.push_back(id);
    out_.mask.push_back(counts);
  }

  const RoleTemplate& role(const std::string& name) const {
    std::vector<std::string> known;
    for (const RoleTemplate& form : format_.roles) {
      if (form.role == name) return form;
      known.push_back(form.role);
    }
    throw conversation_errors::prompt(place_, format_.name, "a turn has the role '" + name + "'",
                                      fmt::format("one of {}", fmt::join(known, ", ")));
  }

  int64_t special(int64_t id, const char* name) const {
    if (id >= 0) return id;
    throw conversation_errors::prompt(
        place_, format_.name, fmt::format("the tokenizer has no {}", name),
        "a tokenizer with one, or model.tokenizer.bos_id and .eos_id");
  }

  const PromptFormat& format_;
  const Tokenizer& tokenizer_;
  const std::string& place_;
  EncodedPrompt out_;
};

}  // namespace

const PromptFormat& find_prompt_format(const std::vector<PromptFormat>& formats,
                                       const std::string& name, const std::string& place) {
  std::vector<std::string> names;
  for (const PromptFormat& format : formats) {
    if (format.name == name) return format;
    names.push_back(format.name);
  }
  throw conversation_errors::prompt_format(place, name, names);
}

EncodedPrompt encode_prompt(std::vector<PromptTurn> turns, const PromptRules& rules,
                            const Tokenizer& tokenizer, const std::string& place) {
  const PromptFormat& format = *rules.format;
  turns = joined(std::move(turns));
  if (turns.empty()) {
    throw conversation_errors::prompt(place, format.name, "no turns", "at least one turn");
  }
  if (format.has_thoughts) write_thoughts(turns, format.name, rules.seed, place);
  if (!format.system_before.empty() && !rules.system_prompt.empty()) {
    turns.front().text =
        format.system_before + rules.system_prompt + format.system_after + turns.front().text;
  }
  PromptWriter writer(format, tokenizer, place);
  if (format.has_bos) writer.add_bos(false);
  if (!format.preamble.empty()) writer.add_text(format.preamble, false);
  const bool is_open = turns.back().role != kAssistant;
  for (const PromptTurn& turn : turns) {
    const bool is_last = &turn == &turns.back();
    const bool is_answer = turn.role == kAssistant && !is_open;
    writer.add_turn(turn, is_answer && (is_last || !format.counts_last_only));
  }
  if (is_open && !format.answer_begin.empty()) {
    const bool is_thoughtless = format.has_thoughts && !rules.thinking;
    writer.add_text(format.answer_begin + (is_thoughtless ? kEmptyThought : ""), false);
  }
  if (format.has_eos && !is_open) writer.add_eos(true);
  return writer.take();
}

}  // namespace s2s::data
