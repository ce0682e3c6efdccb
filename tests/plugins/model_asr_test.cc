// Recognizers in training. tests/reference compares losses, gradients and updates with NeMo's
// (nemo_asr_train_*).

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <doctest/doctest.h>

#include "common/contains.h"
#include "plugins/asr/asr_fixture.h"
#include "s2s/conformance.h"
#include "s2s/error.h"
#include "s2s/kinds/model_capabilities.h"

using namespace s2s;
using namespace s2s::test;

namespace {

struct AsrFixture {
  BuiltPlugins plugins;
  TableTokenizer tokenizer;

  std::unique_ptr<Model> model(const std::string& networks = "", const std::string& keys = "") {
    return make_asr(plugins.registries(), asr_json(networks, keys), &tokenizer);
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

const std::string kCtc = R"(, "decoder": "ctc")";
const std::string kTdt = R"(, "durations": [0, 1, 2], "sigma": 0.05)";
const std::string kHybrid = R"(, "ctc_loss_weight": 0.3)";

double asr_loss(Model& model, const Batch& batch, double count = 0) {
  model.train(true);
  StepContext context;
  context.loss_frames = count;
  return model.training_loss(batch, context).total.item<double>();
}

doctest::Approx close_to(double value) { return doctest::Approx(value).epsilon(1e-4); }

}  // namespace

TEST_CASE("a row's loss does not depend on its batch") {
  AsrFixture fixture;
  const std::vector<SpokenRow> rows = {{16000, "four words of text"}, {9000, "one"}, {12000, ""}};
  for (const auto& [networks, keys] :
       {std::pair<std::string, std::string>{"", ""}, {kTdt, ""}, {"", kCtc}, {"", kHybrid}}) {
    CAPTURE(networks + keys);
    const auto model = fixture.model(networks, keys);
    const Batch all = asr_batch(rows);
    double sum = 0;
    for (int64_t b = 0; b < 3; ++b) {
      Batch one = asr_batch({rows[static_cast<size_t>(b)]});
      one.source_audio_BS =
          all.source_audio_BS.narrow(0, b, 1).slice(1, 0, rows[static_cast<size_t>(b)].num_samples);
      sum += asr_loss(*model, one);
    }
    CHECK(asr_loss(*model, all) == close_to(sum / 3));
    CHECK(asr_loss(*model, all, 10) == close_to(sum / 10));
    model->train(false);
    const MetricSums sums = model->evaluate(all);
    CHECK(sums.at("loss").first == close_to(sum));
    CHECK(sums.at("loss").second == 3);
  }
}

TEST_CASE("the reduction decides what a loss is a mean of") {
  AsrFixture fixture;
  const Batch batch = asr_batch({{16000, "four words of text"}, {9000, "one"}});
  const Batch first = asr_batch({{16000, "four words of text"}});
  const auto by_text = fixture.model();
  const double sum = 2 * asr_loss(*by_text, batch), of_first = asr_loss(*by_text, first);
  const auto mean = fixture.model("", R"(, "reduction": "mean")");
  CHECK(asr_loss(*mean, batch) == close_to((of_first / 4 + (sum - of_first)) / 2));
  const auto volume = fixture.model("", R"(, "reduction": "mean_volume")");
  CHECK(asr_loss(*volume, batch) == close_to(sum / 5));
  CHECK(volume->weigh(batch).loss_frames == 5);
  CHECK(by_text->weigh(batch).loss_frames == 2);
}

TEST_CASE("a batch is weighed as it is computed") {
  AsrFixture fixture;
  const auto model = fixture.model();
  const BatchWeight weight =
      model->weigh(asr_batch({{16000, "four words of text"}, {8000, "one"}}));
  CHECK(weight.tokens == 5);
  CHECK(weight.audio_s == close_to(1.5));
  CHECK(weight.frames == 14 + 8);
  CHECK(weight.padded_frames == 2 * 14);
  CHECK(weight.encoder_flops > 0);
  // Of 2 x 14 frames, 2 x 5 steps of the prediction network, and 2 x 14 x 5 pairs.
  const double lstm = 2 * 64 * 16, projections = 16 * 16;
  CHECK(weight.model_flops ==
        6 * (28.0 * 16 * 32 + 10 * (lstm + projections) + 28.0 * 5 * 201 * 16));
}

TEST_CASE("every part of a recognizer learns") {
  AsrFixture fixture;
  for (const auto& [networks, keys] :
       {std::pair<std::string, std::string>{kTdt, kHybrid}, {"", kCtc}}) {
    const auto model = fixture.model(networks, keys);
    model->train(true);
    const LossTerms terms =
        model->training_loss(asr_batch({{16000, "four words of text"}, {9000, "one"}}), {});
    CHECK(terms.parts.size() == (keys == kHybrid ? 2 : 0));
    terms.total.backward();
    for (const NamedTensor& parameter : model->named_parameters()) {
      CAPTURE(parameter.name);
      REQUIRE(parameter.tensor->grad().defined());
      if (parameter.name.ends_with("linear_k.bias")) continue;  // changes no score
      CHECK(parameter.tensor->grad().abs().max().item<double>() > 0);
    }
  }
}

TEST_CASE("validation counts the words that are wrong") {
  AsrFixture fixture;
  const auto model = fixture.model("", kCtc);
  model->train(false);
  for (NamedTensor& parameter : model->named_parameters()) {
    const at::NoGradGuard no_grad;
    if (parameter.name == "ctc.bias") parameter.tensor->index_put_({at::tensor(200)}, 1e4);
  }
  // It writes nothing: each word is missing.
  const Batch batch = asr_batch({{16000, "four words of text"}, {9000, "one"}});
  const MetricSums sums = model->evaluate(batch);
  CHECK(sums.at("wer") == std::pair<double, double>{5, 5});
  CHECK(model->metrics_of(sums).at("wer") == 1);
  CHECK(model->metric_names() == std::vector<std::string>{"loss", "wer"});
}

TEST_CASE("dropout and omega change steps of training, and not validation") {
  AsrFixture fixture;
  const Batch batch = asr_batch({{16000, "four words of text"}, {9000, "one"}});
  const auto plain = fixture.model(kTdt);
  const auto dropped = fixture.model(kTdt + R"(, "pred_dropout": 0.5, "joint_dropout": 0.5)");
  const auto as_rnnt = fixture.model(kTdt + R"(, "omega": 1.0)");
  const double loss = asr_loss(*plain, batch);
  for (Model* const model : {dropped.get(), as_rnnt.get()}) {
    CHECK(std::abs(asr_loss(*model, batch) - loss) > 1e-3);
    model->train(false);
    CHECK(model->metrics_of(model->evaluate(batch)).at("loss") == close_to(loss));
  }
}

TEST_CASE("what a recognizer cannot be trained with is refused") {
  AsrFixture fixture;
  CHECK(contains(fixture.error_of([&] { fixture.model(R"(, "durations": [0])"); }),
                 "asr/durations: model.transducer.durations = [0]"));
  CHECK(contains(fixture.error_of([&] { fixture.model(R"(, "durations": [1, 1])"); }),
                 "asr/durations"));
  CHECK(contains(fixture.error_of([&] { fixture.model("", kCtc + kHybrid); }), "asr/ctc-weight"));
  CHECK(contains(fixture.error_of([&] { fixture.model("", R"(, "num_labels": 10)"); }),
                 "asr/labels: model.num_labels = 10, but the tokenizer has 200 ids"));
  CHECK(contains(
      fixture.error_of([&] { make_asr(fixture.plugins.registries(), asr_json(), nullptr); }),
      "asr/labels: model has neither a tokenizer nor num_labels"));
  const auto model = fixture.model();
  CHECK(contains(fixture.error_of([&] { model->weigh(Batch()); }), "asr/batch"));
}

TEST_CASE("weights have NeMo's names") {
  AsrFixture fixture;
  const auto name_of = [&](const std::string& keys, const std::string& ours) {
    return fixture.model("", keys)->checkpoint_names().to_theirs(ours).value_or("");
  };
  CHECK(name_of(kCtc, "ctc.weight") == "decoder.decoder_layers.0.weight");
  CHECK(name_of(kHybrid, "ctc.weight") == "ctc_decoder.decoder_layers.0.weight");
  CHECK(name_of("", "transducer.lstm.bias_ih_l0") == "decoder.prediction.dec_rnn.lstm.bias_ih_l0");
  CHECK(name_of("", "transducer.out.weight") == "joint.joint_net.2.weight");
  CHECK(name_of("", "encoder.pre_encode.out.weight") == "encoder.pre_encode.out.weight");
}

TEST_CASE("a recognizer keeps the promises of a model") {
  AsrFixture fixture;
  for (const auto& [networks, keys] :
       {std::pair<std::string, std::string>{"", ""}, {kTdt, kHybrid}, {"", kCtc}}) {
    const auto model = fixture.model(networks, keys);
    CHECK(conformance::broken_promises(*model) == conformance::Answers{});
  }
}
