#include "conversations/prompt_format.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>

#include "base/text.h"
#include "conversations/conversation_errors.h"
#include "conversations/thinking.h"

namespace s2s::data {
namespace {

/// The texts around a text of each role. BOS and EOS are ids and never text.
struct RoleTemplate {
  std::string role;
  std::string before, after;
  bool has_bos = false, has_eos = false;
};

struct PromptFormat {
  std::string name;
  std::vector<RoleTemplate> roles;
  std::string preamble = {};      // text at the beginning
  std::string answer_begin = {};  // text after an open conversation
  bool has_bos = false;           // at the beginning
  bool has_eos = false;           // after a conversation that ends with an answer
  bool counts_last_only = false;  // the loss counts the last answer only
};

PromptFormat qwen(const std::string& name) {
  const auto turn = [](const std::string& role) {
    return RoleTemplate{role, "<|im_start|>" + role + "\n", "<|im_end|>\n"};
  };
  PromptFormat format{name, {turn("user"), turn(kAssistant)}};
  format.answer_begin = "<|im_start|>assistant\n";
  return format;
}

PromptFormat llama3() {
  const auto turn = [](const std::string& role) {
    return RoleTemplate{role, "<|start_header_id|>" + role + "<|end_header_id|>\n\n", "<|eot_id|>"};
  };
  PromptFormat format{"llama3", {turn("system"), turn("user"), turn(kAssistant)}};
  format.preamble = "<|begin_of_text|>";
  format.answer_begin = "<|start_header_id|>assistant<|end_header_id|>\n\n";
  return format;
}

PromptFormat llama2() {
  RoleTemplate user{"user", "[INST] ", " [/INST]"};
  user.has_bos = true;
  RoleTemplate assistant{kAssistant, "", " "};
  assistant.has_eos = true;
  return {"llama2", {user, assistant}};
}

PromptFormat gemma() {
  PromptFormat format{"gemma",
                      {{"user", "<start_of_turn>user\n", "<end_of_turn>\n<start_of_turn>model\n"},
                       {kAssistant, "", "<end_of_turn>\n"}}};
  format.has_bos = format.has_eos = true;
  return format;
}

PromptFormat qwen3() {
  PromptFormat format = qwen("qwen3");
  format.roles.insert(format.roles.begin(),
                      RoleTemplate{"system", "<|im_start|>system\n", "<|im_end|>\n"});
  format.counts_last_only = true;
  return format;
}

const std::vector<PromptFormat>& formats() {
  static const std::vector<PromptFormat> kFormats = {llama2(), llama3(), gemma(), qwen("qwen"),
                                                     qwen3()};
  return kFormats;
}

const PromptFormat& format_of(const std::string& name, const std::string& place) {
  for (const PromptFormat& format : formats()) {
    if (format.name == name) return format;
  }
  throw conversation_errors::prompt_format(place, name, prompt_formats());
}

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

const std::vector<std::string>& prompt_formats() {
  static const std::vector<std::string> kNames = [] {
    std::vector<std::string> names;
    for (const PromptFormat& format : formats()) names.push_back(format.name);
    return names;
  }();
  return kNames;
}

EncodedPrompt encode_prompt(std::vector<PromptTurn> turns, const PromptRules& rules,
                            const Tokenizer& tokenizer, const std::string& place) {
  const PromptFormat& format = format_of(rules.format, place);
  turns = joined(std::move(turns));
  if (turns.empty()) {
    throw conversation_errors::prompt(place, format.name, "no turns", "at least one turn");
  }
  if (format.name == "qwen3") write_thoughts(turns, rules.seed, place);
  if (format.name == "llama2" && !rules.system_prompt.empty()) {
    turns.front().text = "<<SYS>>\n" + rules.system_prompt + "\n<</SYS>>\n\n" + turns.front().text;
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
    const bool is_thoughtless = format.name == "qwen3" && !rules.thinking;
    writer.add_text(format.answer_begin + (is_thoughtless ? kEmptyThought : ""), false);
  }
  if (format.has_eos && !is_open) writer.add_eos(true);
  return writer.take();
}

}  // namespace s2s::data
