// Checks a tiny instance against the requirements of all language models, and prints the
// violations.

#include <cstdio>

#include "family.h"
#include "s2s/conformance.h"
#include "s2s/nn/weights.h"

int main() {
  using PLUGIN_NAME::Family;
  s2s::BuildContext context;
  context.path = "tiny";
  const auto model = s2s::create_decoder<Family>(s2s::parse_json(Family::kTiny, "kTiny"), context);
  model->materialize(at::kCPU, at::kFloat, 1);
  const auto answers = s2s::conformance::broken_promises(*model);
  for (const std::string& answer : answers) std::fprintf(stderr, "%s\n", answer.c_str());
  if (answers.empty()) std::puts("ok");
  return answers.empty() ? 0 : 1;
}
