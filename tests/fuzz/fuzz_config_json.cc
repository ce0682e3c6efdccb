// Any bytes as a config.json that `model.llm.path` names: each family refuses it with a message, or
// builds its decoder, whose weights are not made yet, with sizes that can be counted in 64 bits.
// The plugins' registration functions have the names that CMakeLists.txt and run.sh give them.

#include <cmath>
#include <cstdint>
#include <string>

#include "fuzz/input_file.h"
#include "s2s/error.h"
#include "s2s/kinds/backbone.h"
#include "s2s/registry.h"

extern "C" {
void register_llama(s2s::Registrar& registrar);
void register_tinyllama(s2s::Registrar& registrar);
void register_gemma(s2s::Registrar& registrar);
void register_qwen(s2s::Registrar& registrar);
}

namespace {

s2s::Registries registered() {
  s2s::Registries registries;
  s2s::Registrar registrar(registries);
  register_llama(registrar);
  register_tinyllama(registrar);
  register_gemma(registrar);
  register_qwen(registrar);
  return registries;
}

void expect(bool holds) {
  if (!holds) __builtin_trap();
}

/// Upper bound of the bytes of all weights with their gradients and two moments in float32.
double training_bytes(const s2s::BackboneShape& shape) {
  const auto hidden = static_cast<double>(shape.hidden_size);
  const auto heads = static_cast<double>(shape.num_attention_heads * shape.head_dim);
  const double layer = hidden * (4 * heads + 3 * static_cast<double>(shape.intermediate_size) + 8);
  return 16 * (static_cast<double>(shape.num_layers) * layer +
               2 * hidden * static_cast<double>(shape.vocab_size));
}

void check(const s2s::BackboneShape& shape) {
  for (const int64_t size :
       {shape.vocab_size, shape.hidden_size, shape.num_layers, shape.num_attention_heads,
        shape.num_key_value_heads, shape.head_dim, shape.intermediate_size}) {
    expect(size >= 1);
  }
  expect(shape.num_attention_heads % shape.num_key_value_heads == 0 && shape.head_dim % 2 == 0);
  expect(training_bytes(shape) < std::ldexp(1.0, 63));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const s2s::test::InputFile input("config.json");
  static const s2s::Registries registries = registered();
  input.write(data, size);
  s2s::Config node = s2s::Config::map();
  node["path"] = s2s::Config::scalar(input.folder(), true);
  s2s::BuildContext context;
  context.path = "model.llm";
  for (const auto& [name, family] : registries.of<s2s::Backbone>().entries()) {
    try {
      check(family.create(node, context)->shape());
    } catch (const s2s::Error&) {  // what a user would read
    }
  }
  return 0;
}
