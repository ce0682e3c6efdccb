// Prompts against NeMo's PromptFormatter classes (tests/reference/nemo_prompts.py).

#include <doctest/doctest.h>

#include "common/contains.h"
#include "common/reference_json.h"
#include "conversations/prompt_format.h"
#include "plugins/data_conversations/nemo_tokenizer.h"
#include "s2s/error.h"
#include "s2s/kinds/backbone.h"

using namespace s2s;
using namespace s2s::data;
using namespace s2s::test;
using nlohmann::json;

namespace {

std::vector<PromptTurn> turns_of(const json& turns, const std::string& tag) {
  std::vector<PromptTurn> out;
  for (const json& turn : turns) {
    const std::string text = turn.contains("audio") ? tag : turn.at("text").get<std::string>();
    out.push_back({turn.at("role").get<std::string>(), text});
  }
  return out;
}

std::string error_of(const std::vector<PromptTurn>& turns, const std::string& format) {
  BuiltPlugins plugins;
  const auto tokenizer =
      nemo_tokenizer(plugins, "hf_tokenizer_qwen2.json", {{"eos", 902}, {"pad", 900}}, "<audio>");
  try {
    const std::vector<PromptFormat> formats = known_prompt_formats(plugins.registries());
    PromptRules rules;
    rules.format = &find_prompt_format(formats, format, "talks.jsonl:3");
    encode_prompt(turns, rules, *tokenizer, "talks.jsonl:3");
  } catch (const Error& error) {
    return error.id() + ": " + error.message();
  }
  return "";
}

}  // namespace

TEST_CASE("ids and loss masks of conversations are NeMo's") {
  BuiltPlugins plugins;
  const json root = s2s::test::reference_json("nemo_prompts.json.gz");
  const std::vector<PromptFormat> formats = known_prompt_formats(plugins.registries());
  const std::string tag = root.at("tag");
  for (const json& wanted : root.at("cases")) {
    CAPTURE(wanted.at("format").get<std::string>());
    CAPTURE(wanted.at("turns").dump());
    const auto tokenizer =
        nemo_tokenizer(plugins, wanted.at("tokenizer"), wanted.at("special"), tag);
    CHECK(tokenizer->encode(tag) == std::vector<int64_t>{wanted.at("tag_id").get<int64_t>()});
    PromptRules rules;
    rules.format = &find_prompt_format(formats, wanted.at("format"), "x");
    rules.seed = wanted.at("seed");
    if (!wanted.at("system_prompt").is_null()) rules.system_prompt = wanted.at("system_prompt");
    const EncodedPrompt prompt =
        encode_prompt(turns_of(wanted.at("turns"), tag), rules, *tokenizer, "x");
    CHECK(prompt.ids == wanted.at("input_ids").get<std::vector<int64_t>>());
    std::vector<bool> mask(prompt.ids.size(), false);
    for (size_t i = 0; i < wanted.at("mask").size(); ++i) mask[i] = wanted.at("mask")[i] == 1;
    CHECK(prompt.mask == mask);
  }
}

TEST_CASE("a conversation that its format cannot write is refused by its place") {
  const std::string role = error_of({{"system", "x"}, {"user", "y"}}, "qwen");
  CHECK(contains(role, "data/prompt-turns: talks.jsonl:3: a turn has the role 'system'"));
  CHECK(contains(role, "one of user, assistant"));
  CHECK(contains(error_of({}, "qwen"), "no turns"));
  CHECK(contains(error_of({{"user", "x"}}, "vicuna"), "data/prompt-format"));
  CHECK(
      contains(error_of({{"user", "x"}, {"assistant", "a</think>b"}}, "qwen3"), "without <think>"));
  CHECK(contains(error_of({{"assistant", "a"}}, "qwen3"), "no turn of a system or a user"));
}
