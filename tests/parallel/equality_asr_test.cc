// Recognizers in training under a data axis and a tensor axis against one process.

#include <doctest/doctest.h>

#include "parallel/equality.h"
#include "parallel/trained_models.h"
#include "plugins/asr/asr_fixture.h"
#include "s2s/kinds/encoder.h"

using namespace s2s;
using namespace s2s::test;

namespace {

const TableTokenizer& asr_tokenizer() {
  static const TableTokenizer kTokenizer;
  return kTokenizer;
}

TrainedModel recognizer(const std::string& name, const std::string& networks,
                        const std::string& keys) {
  TrainedModel trained;
  trained.name = name;
  trained.make = [json = asr_json(networks, keys)](const Registries& registries) {
    return make_asr(registries, json, &asr_tokenizer());
  };
  for (int64_t i = 0; i < 4 * kLayoutSteps; ++i) {
    trained.batches.push_back(
        asr_batch({{9000 + 200 * (i % 5), i % 2 == 0 ? "three of them" : "a"}, {12000, "said it"}},
                  static_cast<uint64_t>(i + 1)));
  }
  return trained;
}

}  // namespace

TEST_CASE("ten steps of a recognizer on two ranks and on a tensor axis equal one process") {
  BuiltPlugins plugins;
  load(plugins);
  plugins.registries().get<Model>("asr");
  plugins.registries().get<Encoder>("fastconformer");
  const std::vector<RunLayout> layouts = {
      layout("fsdp 2", R"("name": "fsdp")", 2, 2),
      layout("ddp 2", R"("name": "ddp")", 2, 2),
      layout("tp + sp 2", R"("name": "model_parallel", "tensor_parallel_size": 2)", 2, 1),
      layout("fsdp 2 x tp 2", R"("name": "model_parallel", "tensor_parallel_size": 2)", 4, 2),
  };
  for (const TrainedModel& trained :
       {recognizer("rnnt", "", ""),
        recognizer("tdt, ctc", R"(, "durations": [0, 1, 2])", R"(, "ctc_loss_weight": 0.3)"),
        recognizer("ctc", "", R"(, "decoder": "ctc")")}) {
    Reference reference(plugins.registries(), trained);
    for (const RunLayout& one : layouts) {
      CAPTURE(trained.name);
      CAPTURE(one.name);
      CHECK(difference_of(plugins.registries(), trained, one, reference) < kEqualityTolerance);
    }
  }
}
