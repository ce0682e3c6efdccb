// Checks a tiny instance against the requirements of all codecs, and prints the violations.

#include <cstdio>

#include "codec.h"
#include "s2s/conformance.h"
#include "s2s/nn/weights.h"

int main() {
  s2s::ModelContext context;
  context.path = "tiny";
  const auto codec = PLUGIN_NAME::create(s2s::parse_json(PLUGIN_NAME::kTiny, "kTiny"), context);
  codec->materialize(at::kCPU, at::kFloat, 1);
  const auto answers = s2s::conformance::broken_promises(*codec);
  for (const std::string& answer : answers) std::fprintf(stderr, "%s\n", answer.c_str());
  if (answers.empty()) std::puts("ok");
  return answers.empty() ? 0 : 1;
}
