// Asks a tiny instance for what s2s expects of a language model; prints what does not hold.

#include <cstdio>

#include "mistral.h"
#include "s2s/conformance.h"
#include "s2s/nn/weights.h"

int main() {
  using acme_mistral::Mistral;
  s2s::BuildContext context;
  context.path = "tiny";
  const auto model =
      s2s::create_decoder<Mistral>(s2s::parse_json(Mistral::kTiny, "kTiny"), context);
  model->materialize(at::kCPU, at::kFloat, 1);
  const auto answers = s2s::conformance::broken_promises(*model);
  for (const std::string& answer : answers) std::fprintf(stderr, "%s\n", answer.c_str());
  if (answers.empty()) std::puts("ok");
  return answers.empty() ? 0 : 1;
}
