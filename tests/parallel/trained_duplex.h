#pragma once
// The duplex model with its encoder, small, that layouts are tried on.

#include "core/duplex/table_tokenizer.h"
#include "parallel/layout_run.h"
#include "plugins/duplex_s2s/duplex_fixture.h"
#include "s2s/kinds/encoder.h"

namespace s2s::test {

inline const TableTokenizer& table_tokenizer() {
  static const TableTokenizer kTokenizer;
  return kTokenizer;
}

/// keys: of the model's options. frozen: beginnings of names. change: a text of the options, and
/// what replaces it.
inline TrainedModel duplex(const std::string& name, bool is_tied, const std::string& keys,
                           const std::vector<std::string>& frozen = {},
                           const std::pair<std::string, std::string>& change = {}) {
  TrainedModel trained;
  trained.name = name;
  std::string json = std::string("{") + kParts + ", " + kCodes + keys + "}";
  json.replace(json.find("TIED"), 4, is_tied ? "true" : "false");
  if (!change.first.empty())
    json.replace(json.find(change.first), change.first.size(), change.second);
  trained.make = [json, frozen](const Registries& registries) {
    static const Config kDataBlock = parse_json(kData, "data");
    ModelContext context;
    context.path = "model";
    context.data = &kDataBlock;
    context.tokenizer = &table_tokenizer();
    auto model = registries.create<Model>(parse_json(json, "model"), context);
    model->materialize(at::kCPU, at::kFloat, 3);
    for (const NamedTensor& parameter : model->named_parameters()) {
      for (const std::string& beginning : frozen) {
        if (parameter.name.starts_with(beginning)) parameter.tensor->set_requires_grad(false);
      }
    }
    return model;
  };
  for (int64_t i = 0; i < 4 * 3 * kLayoutSteps; ++i) {
    trained.batches.push_back(make_batch({6 + i % 3, 5 + i % 2}, static_cast<uint64_t>(i + 1)));
  }
  return trained;
}

inline void load_duplex(BuiltPlugins& plugins) {
  plugins.registries().get<Model>("duplex_s2s");
  plugins.registries().get<Encoder>("fastconformer");
}

}  // namespace s2s::test
