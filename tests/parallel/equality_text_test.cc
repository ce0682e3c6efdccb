// Packed text under every layout against one process: documents of different lengths, so that ranks
// and micro-batches have different numbers of labels.

#include <doctest/doctest.h>

#include "parallel/equality.h"
#include "parallel/trained_models.h"
#include "s2s/kinds/model_capabilities.h"

using namespace s2s;
using namespace s2s::test;

namespace {

constexpr int64_t kRows = 2, kColumns = 8;

/// Two documents a row, the second with padding behind; a part of each is predicted.
Batch packed_batch(uint64_t seed) {
  at::Generator generator = at::detail::createCPUGenerator(seed);
  Batch batch;
  batch.text_BT = at::randint(kVocabulary, {kRows, kColumns}, generator, at::kLong);
  batch.text_labels_BT = at::full({kRows, kColumns}, -100, at::kLong);
  for (int64_t row = 0; row < kRows; ++row) {
    const int64_t first = 2 + static_cast<int64_t>((seed + static_cast<uint64_t>(row)) % 4);
    const int64_t second = kColumns - first - static_cast<int64_t>(seed % 2);
    batch.documents.push_back({row, 0, first});
    batch.documents.push_back({row, first, second});
    for (const auto& [begin, length] :
         {std::pair(int64_t{1}, first - 1), {first + 1, second - 1}}) {
      batch.text_labels_BT[row]
          .narrow(0, begin, length)
          .copy_(batch.text_BT[row].narrow(0, begin, length));
    }
    batch.ids.push_back("row " + std::to_string(seed) + "." + std::to_string(row));
  }
  return batch;
}

TrainedModel text_model(const std::string& name, const std::string& keys) {
  TrainedModel trained;
  trained.name = name + ", packed text";
  const std::string json = R"({"llm": {)" + keys +
                           R"(, "hidden_size": 32, "num_hidden_layers": 2, "head_dim": 8,
      "vocab_size": 50, "intermediate_size": 48, "num_attention_heads": 4,
      "num_key_value_heads": 2}, "name": "causal_lm"})";
  trained.make = [json](const Registries& registries) {
    ModelContext context;
    context.path = "model";
    auto model = registries.create<Model>(parse_json(json, "model"), context);
    model->materialize(at::kCPU, at::kFloat, 3);
    return model;
  };
  for (uint64_t i = 0; i < 4 * 3 * kLayoutSteps; ++i)
    trained.batches.push_back(packed_batch(i + 1));
  return trained;
}

std::vector<TrainedModel> text_models() {
  return {
      text_model("llama", R"("name": "llama")"),
      text_model("gemma 2", R"("name": "gemma", "model_type": "gemma2", "sliding_window": 3)"),
      text_model("qwen 3", R"("name": "qwen", "model_type": "qwen3")"),
      text_model("mistral", R"("name": "mistral", "sliding_window": 3)"),
      text_model("phi 3", R"("name": "phi3", "sliding_window": 3)"),
  };
}

}  // namespace

TEST_CASE("layouts of data ranks train packed text as one process") {
  check_all(text_models(), data_layouts(), "data_text");
}

TEST_CASE("layouts with a tensor axis train packed text as one process") {
  check_all(text_models(), tensor_layouts(), "tensor_text");
}

TEST_CASE("a document does not see the others of its row, nor its place there") {
  BuiltPlugins plugins;
  load(plugins);
  for (const TrainedModel& trained : text_models()) {
    CAPTURE(trained.name);
    const std::unique_ptr<Model> model = trained.make(plugins.registries());
    const Batch packed = packed_batch(5);
    double sum = 0, labels = 0;
    for (const DocumentSpan& document : packed.documents) {
      Batch alone;
      alone.text_BT = packed.text_BT[document.row].narrow(0, document.begin, document.length);
      alone.text_BT = alone.text_BT.unsqueeze(0);
      alone.text_labels_BT =
          packed.text_labels_BT[document.row].narrow(0, document.begin, document.length);
      alone.text_labels_BT = alone.text_labels_BT.unsqueeze(0);
      const auto [loss, count] = model->evaluate(alone).at("text_loss");
      sum += loss;
      labels += count;
    }
    const auto [loss, count] = model->evaluate(packed).at("text_loss");
    CHECK(count == labels);
    CHECK(loss == doctest::Approx(sum).epsilon(1e-6));
    CHECK(model->weigh(packed).normalizer() == static_cast<int64_t>(labels));
  }
}
