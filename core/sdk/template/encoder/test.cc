// Checks a tiny instance against the requirements of all encoders, and prints the violations.

#include <cstdio>

#include "encoder.h"
#include "s2s/conformance.h"
#include "s2s/nn/weights.h"

int main() {
  s2s::BuildContext context;
  context.path = "tiny";
  const auto encoder = PLUGIN_NAME::create(s2s::parse_json(PLUGIN_NAME::kTiny, "kTiny"), context);
  encoder->materialize(at::kCPU, at::kFloat, 1);
  const auto answers = s2s::conformance::broken_promises(*encoder);
  for (const std::string& answer : answers) std::fprintf(stderr, "%s\n", answer.c_str());
  if (answers.empty()) std::puts("ok");
  return answers.empty() ? 0 : 1;
}
