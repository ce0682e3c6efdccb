#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include "common/contains.h"
#include "plugins/salm/salm_fixture.h"
#include "plugins/stage_parts.h"
#include "s2s/conformance.h"
#include "s2s/error.h"
#include "s2s/kinds/model_capabilities.h"
#include "s2s/nn/token_sampling.h"

using namespace s2s;
using namespace s2s::test;

namespace {

struct Fixture {
  BuiltPlugins plugins;
  TableTokenizer tokenizer;

  std::unique_ptr<Model> model(bool is_tied = false, const std::string& keys = "") {
    return make_salm(plugins.registries(), salm_json(is_tied, keys), &tokenizer);
  }
  template <class Action>
  std::string error_of(const Action& action) {
    try {
      action();
    } catch (const Error& error) {
      return error.id() + ": " + error.message();
    }
    return "";
  }
};

double loss_of(Model& model, const Batch& batch, double labels = 0) {
  model.train(true);
  StepContext context;
  context.loss_frames = labels;
  return model.training_loss(batch, context).total.item<double>();
}

const SalmRow kHeard{{1, 30, kTag, 40, 50, 2}, 3};
const SalmRow kTwice{{1, kTag, 31, kTag, 51, 2}, 2};
const SalmRow kRead{{1, 32, 33, 52, 53, 54, 55, 2}, 5};

doctest::Approx near(double value) { return doctest::Approx(value).epsilon(1e-4); }

}  // namespace

TEST_CASE("a batch's loss is that of its rows alone, whatever their padding and audios") {
  Fixture fixture;
  const auto model = fixture.model();
  const Batch all = salm_batch({kHeard, kRead, kTwice}, {5000, 9000, 3000});
  double sum = loss_of(*model, salm_batch({kRead}, {})) * 5;
  // The audios of the whole batch, without its padding.
  const at::Tensor& audios = all.others.at("audios");
  Batch heard = salm_batch({kHeard}, {5000});
  heard.others["audios"] = audios.narrow(0, 0, 1).slice(1, 0, 5000);
  Batch twice = salm_batch({kTwice}, {9000, 3000});
  twice.others["audios"] = audios.narrow(0, 1, 2);
  sum += loss_of(*model, heard) * 3 + loss_of(*model, twice) * 2;
  CHECK(loss_of(*model, all) == near(sum / 10));
  CHECK(loss_of(*model, all, 40) == near(sum / 40));
}

TEST_CASE("a batch is weighed as it is computed") {
  Fixture fixture;
  const auto model = fixture.model();
  const BatchWeight weight = model->weigh(salm_batch({kHeard, kRead}, {16000}));
  CHECK(weight.loss_frames == 8);
  CHECK(weight.tokens == 8);
  CHECK(weight.audio_s == near(1.0));
  // 100 mel frames are 14 of the causal encoder: 6 - 1 + 14 positions, and 8, without the last of
  // each.
  CHECK(weight.frames == 18 + 7);
  CHECK(weight.padded_frames == 2 * 18);
}

TEST_CASE("operations are counted where products are computed") {
  Fixture fixture;
  const auto model = fixture.model();
  const Batch batch = salm_batch({kHeard, kRead}, {16000});
  const BatchWeight weight = model->weigh(batch);
  // Two layers of a Llama of these sizes at 36 positions, the head at 8 labels, the projection of
  // 14 frames, attention of 64 queries (layers, heads, width of a head) in two rows of 18.
  const double layers = 2 * (2 * 32 * 32 + 2 * 32 * 16 + 3 * 32 * 48);
  const double products = 36 * layers + 8 * 200 * 32 + 14 * 32 * 32;
  CHECK(weight.model_flops == 6 * products + 12 * 64 * 2 * 18 * 18);
  CHECK(weight.encoder_flops > 0);
  for (NamedTensor& parameter : model->named_parameters()) {
    if (!parameter.name.starts_with("perception.proj")) parameter.tensor->set_requires_grad(false);
  }
  const BatchWeight frozen = model->weigh(batch);
  CHECK(frozen.model_flops == weight.model_flops - 2 * (products - 14 * 32 * 32));
  CHECK(frozen.encoder_flops == weight.encoder_flops / 3);
  CHECK(model->weigh(salm_batch({kRead}, {})).encoder_flops == 0);
}

TEST_CASE("an audio has as many positions as its connector gives frames") {
  Fixture fixture;
  for (const auto& [adapter, frames] :
       {std::pair{R"({"type": "frame_stacking", "frame_stacking": {"factor": 2}})", 7},
        {R"({"type": "qformer", "target_layer_ids": [0], "qformer": {"prompt_size": 5,
            "num_attention_heads": 4, "intermediate_size": 16}})",
         5}}) {
    CAPTURE(std::string(adapter));
    const auto model = fixture.model(false, std::string(R"(, "modality_adapter": )") + adapter);
    const Batch batch = salm_batch({kHeard}, {16000});
    CHECK(model->weigh(batch).frames == 5 + frames - 1);
    CHECK(loss_of(*model, batch) > 0);
  }
}

TEST_CASE("every part of the model learns, also the encoder") {
  Fixture fixture;
  const auto model = fixture.model();
  model->train(true);
  model->training_loss(salm_batch({kHeard, kTwice}, {5000, 9000, 3000}), {}).total.backward();
  for (const NamedTensor& parameter : model->named_parameters()) {
    CAPTURE(parameter.name);
    REQUIRE(parameter.tensor->grad().defined());
    if (parameter.name.ends_with("linear_k.bias")) continue;  // changes no score
    CHECK(parameter.tensor->grad().abs().max().item<double>() > 0);
  }
}

TEST_CASE("a batch without audio trains, and leaves the encoder alone") {
  Fixture fixture;
  const auto model = fixture.model();
  model->train(true);
  const LossTerms terms = model->training_loss(salm_batch({kRead}, {}), {});
  terms.total.backward();
  CHECK(model->is_training());
  for (const NamedTensor& parameter : model->named_parameters()) {
    if (!parameter.name.starts_with("perception.")) continue;
    const at::Tensor& grad = parameter.tensor->grad();
    CHECK((!grad.defined() || grad.abs().max().item<double>() == 0));
  }
}

TEST_CASE("validation names loss and accuracy as NeMo, over labels or as a mean of batches") {
  Fixture fixture;
  const Batch batch = salm_batch({kHeard, kRead}, {5000});
  for (const char* how : {"global", "local"}) {
    const auto model =
        fixture.model(false, std::string(R"(, "loss_normalization": ")") + how + "\"");
    model->train(false);
    const MetricSums sums = model->evaluate(batch);
    CHECK(sums.at("loss").second == (std::string(how) == "local" ? 1 : 8));
    CHECK(model->metrics_of(sums).at("loss") == near(loss_of(*model, batch)));
    CHECK(model->metric_names() == std::vector<std::string>{"loss", "acc"});
  }
}

TEST_CASE("prompts of different lengths are answered as each alone") {
  Fixture fixture;
  const auto model = fixture.model();
  auto& writer = require_capability<TextGenerator>(*model, "salm", "write");
  at::manual_seed(1);
  const std::vector<TextPrompt> prompts = {
      {{1, 30, kTag, 31}, {at::randn({6000}) * 0.1}},
      {{1, 33, 34, 35, 36, 37, 38}, {}},
      {{1, kTag, kTag, 30}, {at::randn({3000}) * 0.1, at::randn({9000}) * 0.1}}};
  TextGenerationOptions options;
  options.max_new_tokens = 6;
  for (const int64_t num_beams : {1, 3}) {
    options.num_beams = num_beams;
    const auto together = writer.continue_prompts(prompts, options, {});
    for (size_t i = 0; i < prompts.size(); ++i) {
      const auto alone = writer.continue_prompts({prompts[i]}, options, {});
      CHECK(together[i].tokens == alone[0].tokens);
      CHECK(together[i].text == alone[0].text);
    }
  }
  SamplingOptions sampling;
  sampling.temperature = 1;
  sampling.seed = 3;
  options.num_beams = 1;
  CHECK(writer.continue_prompts({prompts[0]}, options, sampling)[0].tokens !=
        writer.continue_prompts({prompts[0]}, options, {})[0].tokens);
  CHECK(model->is_training());
}

TEST_CASE("the prompts of a batch have its audios, and passes for other ranks change no answer") {
  Fixture fixture;
  const auto model = fixture.model();
  auto& writer = require_capability<TextGenerator>(*model, "salm", "write");
  Batch batch = salm_batch({kHeard, kRead, kTwice}, {5000, 9000, 3000});
  CHECK(writer.prompts_of(batch).empty());
  batch.others["prompt_ids"] =
      at::tensor(std::vector<int64_t>{0, 1, 30, kTag, 0, 1, 32, 33, 1, kTag, 31, kTag})
          .view({3, 4});
  const std::vector<TextPrompt> prompts = writer.prompts_of(batch);
  REQUIRE(prompts.size() == 3);
  CHECK(prompts[0].ids == std::vector<int64_t>{1, 30, kTag});
  CHECK(prompts[1].audios_S.empty());
  REQUIRE(prompts[2].audios_S.size() == 2);
  CHECK(at::equal(prompts[2].audios_S[1], batch.others["audios"][2].narrow(0, 0, 3000)));
  TextGenerationOptions options;
  options.max_new_tokens = 4;
  const auto expected = writer.continue_prompts(prompts, options, {});
  int num_asked = 0, num_open = 0;
  options.goes_on = [&](bool is_open) {
    num_open += is_open ? 1 : 0;
    return ++num_asked < 20;
  };
  const auto found = writer.continue_prompts(prompts, options, {});
  for (size_t i = 0; i < 3; ++i) CHECK(found[i].tokens == expected[i].tokens);
  CHECK(num_asked == 20);
  CHECK(num_open < 20);
}

TEST_CASE("prompts without a place for their audio, or with too few or many, are refused") {
  Fixture fixture;
  const auto model = fixture.model();
  auto& writer = require_capability<TextGenerator>(*model, "salm", "write");
  const at::Tensor audio_S = at::zeros({4000});
  const auto answer = [&](TextPrompt prompt) {
    return fixture.error_of([&] {
      writer.continue_prompts({{{1, 30}, {}}, std::move(prompt)}, {}, {});
    });
  };
  CHECK(contains(answer({{1, 30}, {audio_S}}), "salm/audio-count: prompt 2 has 1 audios"));
  CHECK(contains(answer({{1, 30}, {audio_S}}), "where each audio belongs"));
  CHECK(contains(answer({{1, kTag}, {audio_S, audio_S}}), "add tags, or remove audios"));
  CHECK(contains(answer({{1, kTag, kTag}, {audio_S}}), "add audios, or remove tags"));
  CHECK(contains(fixture.error_of([&] {
    TextGenerationOptions options;
    options.num_beams = 2;
    SamplingOptions sampling;
    sampling.temperature = 1;
    writer.continue_prompts({{{1, 30}, {}}}, options, sampling);
  }),
                 "salm/sampled-beams"));
}

TEST_CASE("the text of an ASR decoder follows each audio, unless a training step drops it") {
  Fixture fixture;
  // A decoder of zeros predicts its first label as often as a frame may have one.
  const std::string decoder = R"(, "asr_decoder": {"vocabulary": ["\u2581yes", "no"],
      "pred_hidden": 4, "joint_hidden": 4, "max_symbols": 1})";
  const Batch batch = salm_batch({kHeard, kRead, kTwice}, {5000, 9000, 3000});
  const auto heard = fixture.model(false, decoder);
  const auto dropped = fixture.model(false, decoder + R"(, "asr_transcript_drop_prob": 1.0)");
  const auto deaf = fixture.model(false);
  const double loss = loss_of(*heard, batch);
  CHECK(heard->metrics_of(heard->evaluate(batch)).at("loss") == near(loss));
  CHECK(std::abs(loss_of(*deaf, batch) - loss) > 1e-3);
  CHECK(std::abs(loss_of(*dropped, batch) - loss) > 1e-3);
  dropped->train(false);
  CHECK(dropped->metrics_of(dropped->evaluate(batch)).at("loss") == near(loss));
  auto& writer = require_capability<TextGenerator>(*heard, "salm", "write");
  TextGenerationOptions options;
  options.max_new_tokens = 3;
  const TextPrompt prompt{{1, 30, kTag}, {batch.others.at("audios")[0].narrow(0, 0, 5000)}};
  const auto together = writer.continue_prompts({prompt, {{1, 33, 34}, {}}}, options, {});
  CHECK(together[0].tokens == writer.continue_prompts({prompt}, options, {})[0].tokens);
  CHECK(contains(fixture.error_of([&] {
    fixture.model(false, decoder + R"(, "encoder_chunk_size_seconds": 1.0)");
  }),
                 "salm/asr-decoder"));
  for (const NamedTensor& parameter : heard->named_parameters()) {
    CHECK_FALSE(parameter.name.starts_with("asr_decoder"));
  }
}

TEST_CASE("what the model cannot be built from is refused") {
  Fixture fixture;
  CHECK(contains(fixture.error_of([&] {
    std::string json = salm_json(false);
    json.replace(json.find(R"("audio_locator_tag": 199)"), 24, R"("eos": 2)");
    make_salm(fixture.plugins.registries(),
              json.insert(json.size() - 1, R"(, "audio_locator_tag": "a b")"), &fixture.tokenizer);
  }),
                 "salm/tag"));
  CHECK(contains(
      fixture.error_of([&] { make_salm(fixture.plugins.registries(), salm_json(false), nullptr); }),
      "model/token-id"));
  const auto model = fixture.model();
  CHECK(contains(fixture.error_of([&] { model->weigh(Batch()); }), "salm/batch"));
}

TEST_CASE("a meta model is built with a tokenizer that knows no text") {
  Fixture fixture;
  const std::map<std::string, std::vector<int64_t>> nothing = {{"<|audioplaceholder|>", {}}};
  const TableTokenizer no_text(nothing);
  std::string json = salm_json(false);
  json.replace(json.find(R"("audio_locator_tag": 199)"), 24, R"("eos": 2)");
  CHECK(make_salm(fixture.plugins.registries(), json, &no_text) != nullptr);
}

TEST_CASE("batches for tune-batch have the size that is asked for") {
  Fixture fixture;
  const auto model = fixture.model();
  auto& probes = require_capability<MakesProbeBatches>(*model, "salm", "be probed");
  const Batch batch = probes.probe_batch({3, 2.0, 10});
  CHECK(batch.size() == 3);
  const BatchWeight weight = model->weigh(batch);
  CHECK(weight.audio_s == near(6.0));
  CHECK(weight.loss_frames == 30);
  CHECK(loss_of(*model, batch) > 0);
}

TEST_CASE("the model can be cut before and after each layer of its language model") {
  Fixture fixture;
  for (const bool is_tied : {false, true}) check_stages(*fixture.model(is_tied), 2);
}

TEST_CASE("salm keeps the promises of a model") {
  Fixture fixture;
  const auto model = fixture.model();
  CHECK(conformance::broken_promises(*model) == conformance::Answers{});
}
