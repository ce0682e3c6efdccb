// Any bytes as a chat template, with a chat to write: refused with a message, or a text, and never
// more work or memory than its limits.

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "jinja/template.h"

namespace {

using s2s::jinja::Dict;
using s2s::jinja::MarkedText;
using s2s::jinja::Value;

Value message(const char* role, const char* content, int64_t tag) {
  Dict members;
  members.set("role", Value::of(role));
  members.set("content", Value::of(MarkedText::from(content, tag)));
  return Value::of(std::move(members));
}

std::vector<std::pair<std::string, Value>> variables() {
  Dict tool;
  tool.set("name", Value::of("f"));
  tool.set("parameters", Value::list({Value::of(int64_t{1}), Value::of(2.5), Value::none()}));
  return {{"messages", Value::list({message("system", "be brief", 0), message("user", "h\u00e9", 1),
                                    message("assistant", "<b>'x'\n", 2)})},
          {"tools", Value::list({Value::of(std::move(tool))})},
          {"bos_token", Value::of("<s>")},
          {"add_generation_prompt", Value::of(true)}};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  s2s::jinja::MeterLimits limits;
  limits.work = 500'000;
  limits.live_bytes = int64_t{32} << 20;
  limits.seconds = 5;  // with the sanitizers' share; counting comes first
  s2s::jinja::RenderCost cost;
  try {
    const s2s::jinja::Template made(std::string_view(reinterpret_cast<const char*>(data), size));
    made.render(variables(), limits, &cost);
  } catch (const s2s::jinja::TemplateError& error) {
    const std::string reason = error.what();
    if (reason.find("processor time") != std::string::npos) __builtin_trap();
  }
  if (cost.work > limits.work || cost.most_live_bytes > limits.live_bytes) __builtin_trap();
  return 0;
}
