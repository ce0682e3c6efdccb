// The duplex model with its encoder, and a model of which ranks run different parts, under all
// layouts against one process.

#include <doctest/doctest.h>

#include "core/data/table_tokenizer.h"
#include "parallel/equality.h"
#include "parallel/replicated_run.h"
#include "plugins/duplex_s2s/duplex_fixture.h"

using namespace s2s;
using namespace s2s::test;

namespace {

const TableTokenizer& tokenizer() {
  static const TableTokenizer kTokenizer;
  return kTokenizer;
}

/// keys: of the model's options. frozen: beginnings of names.
TrainedModel duplex(const std::string& name, bool is_tied, const std::string& keys,
                    const std::vector<std::string>& frozen = {}) {
  TrainedModel trained;
  trained.name = name;
  std::string json = std::string("{") + kParts + ", " + kCodes + keys + "}";
  json.replace(json.find("TIED"), 4, is_tied ? "true" : "false");
  trained.make = [json, frozen](const Registries& registries) {
    static const Config kDataBlock = parse_json(kData, "data");
    BuildContext context;
    context.path = "model";
    context.data = &kDataBlock;
    context.tokenizer = &tokenizer();
    auto model = registries.create<SpeechModel>(parse_json(json, "model"), context);
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

/// With units, so that it can be split; its layers are used by some batches only.
class UnitModel : public PartlyUsedModel {
 public:
  ShardPlan configure_model(const MeshShape&) const override {
    ShardPlan plan;
    for (const char* name : {"linear", "frozen", "up", "down", "sometimes"}) {
      plan.rows.push_back({name});
      plan.units.push_back({name});
    }
    return plan;
  }
};

TrainedModel partly_used() {
  TrainedModel trained;
  trained.name = "layers that only some ranks run";
  trained.make = [](const Registries&) {
    auto model = std::make_unique<UnitModel>();
    model->materialize(at::kCPU, at::kFloat, 3);
    model->find_block("frozen")->set_requires_grad(false);
    return model;
  };
  FakeData data;
  for (int64_t i = 0; i < 4 * 3 * kLayoutSteps; ++i) trained.batches.push_back(*data.next());
  return trained;
}

void load_duplex(BuiltPlugins& plugins) {
  plugins.registries().get<SpeechModel>("duplex_s2s");
  plugins.registries().get<Encoder>("fastconformer");
}

}  // namespace

TEST_CASE("the duplex model's layouts equal one process") {
  BuiltPlugins plugins;
  load_duplex(plugins);
  const std::string extras = std::string(", ") + kExtras;
  const std::vector<TrainedModel> models = {
      duplex("duplex", false, ""),
      duplex("duplex, tied, user text", true, extras),
      duplex("duplex, frozen encoder and LLM", false, "", {"perception.encoder", "llm."}),
  };
  check_all(models, data_layouts(), "data_duplex");
  check_all(models, tensor_layouts(), "tensor_duplex");
}

TEST_CASE("layers that only some ranks run do not hang or differ") {
  check_all({partly_used()}, data_layouts(), "data_partly");
}
