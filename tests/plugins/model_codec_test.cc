// The model that trains a codec: what all models and codecs promise, gradients, codebooks,
// segments, and what the codec plugin `encodec` reads of it.

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include <set>

#include "common/contains.h"
#include "common/temporary_folder.h"
#include "config/config_tree.h"
#include "plugins/built_plugins.h"
#include "plugins/codec/codec_fixture.h"
#include "s2s/conformance.h"
#include "s2s/error.h"
#include "s2s/nn/scalar_groups.h"
#include "weights/safetensors.h"

using namespace s2s;
using namespace s2s::test;

namespace {

struct Fixture {
  BuiltPlugins plugins;
  std::unique_ptr<Model> model(const std::string& keys = "") {
    return make_codec_model(plugins.registries(), keys);
  }
  std::string message_of(const std::string& keys) {
    try {
      model(keys);
    } catch (const Error& error) {
      return "[" + error.id() + "] " + error.what();
    }
    return "no error";
  }
};

LossTerms loss_of(Model& model, int64_t number, int64_t step = 0) {
  model.train(true);
  StepContext context;
  context.step = step;
  return model.training_loss(codec_batch(number), context);
}

at::Tensor buffer_of(Model& model, const std::string& name) {
  for (const NamedTensor& buffer : model.named_buffers()) {
    if (buffer.name == name) return buffer.tensor->clone();
  }
  FAIL("no buffer " << name);
  return {};
}

double gradient_of(Model& model, const std::string& prefix) {
  double sum = 0;
  for (const NamedTensor& parameter : model.named_parameters()) {
    const at::Tensor& gradient = parameter.tensor->grad();
    if (parameter.name.starts_with(prefix) && gradient.defined()) {
      sum += gradient.abs().sum().item<double>();
    }
  }
  return sum;
}

constexpr const char* kNoDiscriminator = R"("discriminator": {})";
constexpr const char* kScalar =
    R"("quantizer": "fsq", "levels": [4, 3, 3, 2], "codebook_size": null)";

/// Compares the codec with what the codec plugin `encodec` makes of its export, which is returned.
TensorMap check_export(Fixture& fixture, Model& model) {
  model.train(false);
  const auto& foreign = *find_capability<HasForeignClass>(model);
  const NameMap names = model.checkpoint_names();
  TensorMap exported;
  std::vector<NamedTensor> all = model.named_parameters();
  for (NamedTensor& buffer : model.named_buffers()) {
    if (buffer.persistent) all.push_back(std::move(buffer));
  }
  for (const NamedTensor& tensor : all) {
    if (!foreign.is_exported(tensor.name)) continue;
    exported[*names.to_theirs(tensor.name)] = tensor.tensor->detach();
  }
  TemporaryFolder folder;
  write_safetensors(folder / "model.safetensors", exported);
  folder.write("config.json", config_json(foreign.hf_config()).dump());
  const auto encodec = fixture.plugins.create<Codec>(
      parse_json(R"({"name": "encodec", "path": ")" + folder.path().string() + "\"}", "codec"));
  encodec->materialize(at::kCPU, at::kFloat, 0);
  Codec& codec = find_capability<HasCodec>(model)->codec();
  CHECK(encodec->shape().num_codebooks == codec.shape().num_codebooks);
  CHECK(encodec->shape().codebook_size == codec.shape().codebook_size);
  const Batch batch = codec_batch(1, 403);
  const auto theirs = encodec->encode(batch.target_audio_BS, batch.target_audio_lens_B);
  const auto ours = codec.encode(batch.target_audio_BS, batch.target_audio_lens_B);
  CHECK(theirs.first.equal(ours.first));
  CHECK(theirs.second.equal(ours.second));
  CHECK(at::allclose(encodec->decode(theirs.first), codec.decode(ours.first)));
  return exported;
}

}  // namespace

TEST_CASE("the model that trains a codec keeps what models and codecs promise") {
  Fixture fixture;
  for (const std::string keys :
       {"", R"("pad_mode": "constant", "num_codebooks": 3, "quantizer_dropout": 0)",
        R"("discriminator": {"loss_type": "hinge", "feature_loss_type": "absolute",
            "window_lengths": [128, 256], "stft_bands": [0, 0.5, 1], "stft_channels": 2})",
        kScalar}) {
    CAPTURE(keys);
    const auto model = fixture.model(keys);
    for (const std::string& answer : conformance::broken_promises(*model, codec_batch(1))) {
      FAIL_CHECK(answer);
    }
    Codec& codec = find_capability<HasCodec>(*model)->codec();
    for (const std::string& answer : conformance::broken_promises(codec, /*is_trained=*/false)) {
      FAIL_CHECK(answer);
    }
  }
}

TEST_CASE("one backward pass gives discriminators and codec their own gradients") {
  Fixture fixture;
  const std::string weights = R"("mel_loss_l1_scale": 0, "stft_loss_scale": 0,
                                 "commit_loss_scale": 0, )";
  // The codec's weights on the discriminators' opinion do not change their gradients.
  std::vector<double> of_discriminators, of_codec;
  for (const char* scales : {R"("gen_loss_scale": 1, "feature_loss_scale": 1)",
                             R"("gen_loss_scale": 2, "feature_loss_scale": 2)",
                             R"("gen_loss_scale": 0, "feature_loss_scale": 0)"}) {
    const auto model = fixture.model(weights + scales);
    const LossTerms terms = loss_of(*model, 1);
    CHECK(terms.parts.count("gen_loss") == 1);
    terms.total.backward();
    of_discriminators.push_back(gradient_of(*model, "discriminator."));
    of_codec.push_back(gradient_of(*model, "codec."));
  }
  CHECK(of_discriminators[0] > 0);
  CHECK(of_discriminators[1] == doctest::Approx(of_discriminators[0]));
  CHECK(of_discriminators[2] == doctest::Approx(of_discriminators[0]));
  CHECK(of_codec[0] > 0);
  CHECK(of_codec[1] == doctest::Approx(2 * of_codec[0]).epsilon(1e-4));
  CHECK(of_codec[2] == 0);
}

TEST_CASE("the codec learns from discriminators from start_step on") {
  Fixture fixture;
  const auto model = fixture.model(R"("discriminator": {"periods": [2], "period_channels": [4, 4],
                                      "start_step": 2})");
  CHECK(loss_of(*model, 1, 1).parts.count("gen_loss") == 0);
  CHECK(loss_of(*model, 1, 1).parts.count("disc_loss") == 1);
  CHECK(loss_of(*model, 1, 2).parts.count("gen_loss") == 1);
}

TEST_CASE("codebooks follow the latents of a step at the next one, whatever its micro-batches") {
  Fixture fixture;
  const std::string book = "codec.quantizer.layers.0.codebook.";
  const std::string keys = std::string(kNoDiscriminator) + R"(, "quantizer_dropout": 0)";
  const auto model = fixture.model(keys), twice = fixture.model(keys);
  const at::Tensor before_VD = buffer_of(*model, book + "embed");
  loss_of(*model, 1, 0);
  loss_of(*twice, 1, 0);
  loss_of(*twice, 1, 0);
  CHECK(buffer_of(*model, book + "embed").equal(before_VD));
  loss_of(*model, 2, 1);
  loss_of(*twice, 2, 1);
  const at::Tensor after_VD = buffer_of(*model, book + "embed");
  CHECK(!after_VD.equal(before_VD));
  // Twice the same statistics have the same means.
  CHECK(at::allclose(buffer_of(*twice, book + "embed"), after_VD, 1e-4, 1e-5));
  CHECK(at::allclose(buffer_of(*twice, book + "cluster_size"),
                     2 * buffer_of(*model, book + "cluster_size"), 1e-4, 1e-6));
  // Validation leaves them alone.
  model->train(false);
  model->evaluate(codec_batch(4));
  CHECK(buffer_of(*model, book + "embed").equal(after_VD));
}

TEST_CASE("dead codes come to life, and numbers that are not finite change no codebook") {
  Fixture fixture;
  const auto model = fixture.model(kNoDiscriminator);
  const std::string book = "codec.quantizer.layers.0.codebook.";
  for (int64_t step = 0; step < 12; ++step) loss_of(*model, step, step);
  const at::Tensor size_V = buffer_of(*model, book + "cluster_size");
  CHECK(size_V.min().item<double>() > 0);
  CHECK(loss_of(*model, 1, 12).parts.at("perplexity").item<double>() > 3);  // of 8
  const at::Tensor embed_VD = buffer_of(*model, book + "embed");
  Batch wrong = codec_batch(1);
  wrong.target_audio_BS.fill_(NAN);
  StepContext context;
  context.step = 13;
  loss_of(*model, 1, 13);  // moved by step 12
  const at::Tensor moved_VD = buffer_of(*model, book + "embed");
  context.step = 14;
  model->training_loss(wrong, context);
  const at::Tensor of_13_VD = buffer_of(*model, book + "embed");
  loss_of(*model, 1, 15);
  CHECK(buffer_of(*model, book + "embed").equal(of_13_VD));
  CHECK(!moved_VD.equal(embed_VD));
}

TEST_CASE("statistics are summed over ranks once per micro-batch") {
  Fixture fixture;
  const auto model = fixture.model(kNoDiscriminator);
  StepContext context;
  int64_t calls = 0;
  context.sum_over_data = [&](const at::Tensor& numbers) {
    ++calls;
    CHECK((numbers.scalar_type() == at::kDouble));
    CHECK(numbers.dim() == 1);
    return numbers * 2;
  };
  model->train(true);
  model->training_loss(codec_batch(1), context);
  CHECK(calls == 1);
  const at::Tensor pending = buffer_of(*model, "codec.quantizer.pending");
  const auto alone = fixture.model(kNoDiscriminator);
  loss_of(*alone, 1);
  CHECK(at::allclose(pending, 2 * buffer_of(*alone, "codec.quantizer.pending")));
}

TEST_CASE("a row's segment depends on its id and the step, not on its neighbors") {
  Fixture fixture;
  const auto model = fixture.model(kNoDiscriminator);
  const Batch both = codec_batch(1);
  const auto total = [&](const Batch& batch, int64_t step) {
    model->train(false);
    StepContext context;
    context.step = step;
    context.loss_frames = 1;
    return model->training_loss(batch, context).total.item<double>();
  };
  double alone = 0;
  for (int64_t b = 0; b < 2; ++b) {
    Batch row = both;
    row.ids = {both.ids[static_cast<size_t>(b)]};
    row.turns = {both.turns[static_cast<size_t>(b)]};
    row.target_audio_BS = both.target_audio_BS.narrow(0, b, 1);
    row.target_audio_lens_B = both.target_audio_lens_B.narrow(0, b, 1);
    alone += total(row, 5);
  }
  CHECK(total(both, 5) == doctest::Approx(alone).epsilon(1e-4));
  CHECK(total(both, 6) != doctest::Approx(alone).epsilon(1e-4));
  CHECK(model->weigh(both).loss_frames == 2);
  CHECK(model->weigh(both).padded_frames == 2 * 80);
}

TEST_CASE("encodec reads what is exported, and computes the same") {
  Fixture fixture;
  const auto model = fixture.model();
  for (int64_t step = 0; step < 3; ++step) loss_of(*model, step, step);
  CHECK(check_export(fixture, *model).count("quantizer.layers.0.codebook.embed_avg") == 1);
}

TEST_CASE("scalar levels: gradients go through, codes are NeMo's, encodec reads the export") {
  Fixture fixture;
  const auto model = fixture.model(std::string(kScalar) + ", " + kNoDiscriminator);
  const LossTerms terms = loss_of(*model, 1);
  terms.total.backward();
  CHECK(gradient_of(*model, "codec.encoder") > 0);
  CHECK(terms.parts.count("commit_loss") == 0);
  CHECK(terms.parts.at("perplexity").item<double>() > 1);
  // FiniteScalarQuantizer(num_levels=[8, 5]) of NeMo 3.0.0: its codes, dequantized.
  const ScalarGroups groups(2, {8, 5});
  const at::Tensor latents_1DT =
      at::tensor({-3.F, -0.4F, 0.F, 0.3F, 5.F}).repeat({4, 1}).unsqueeze(0).set_requires_grad(true);
  const at::Tensor codes_1KT = groups.encode(latents_1DT);
  CHECK(codes_1KT[0][0].equal(at::tensor({0, 11, 20, 29, 39}, at::kLong)));
  CHECK(codes_1KT[0][1].equal(codes_1KT[0][0]));
  const at::Tensor quantized_1DT = groups.quantize(latents_1DT);
  CHECK(at::allclose(quantized_1DT, groups.decode(codes_1KT)));
  CHECK(at::allclose(quantized_1DT[0][0], at::tensor({-1.F, -0.25F, 0.F, 0.25F, 0.75F})));
  quantized_1DT.sum().backward();
  CHECK(latents_1DT.grad().gt(0).all().item<bool>());

  const Config config = find_capability<HasForeignClass>(*model)->hf_config();
  CHECK(config.find("model_type")->text() == "encodec_fsq");
  check_export(fixture, *model);
}

TEST_CASE("options of a codec that do not fit together are refused, with a next step") {
  Fixture fixture;
  const std::pair<const char*, const char*> cases[] = {
      {R"("upsampling_ratios": [])", "at least one ratio"},
      {R"("compress": 3)", "a divisor of num_filters"},
      {R"("levels": [8, 5])", "quantizer: fsq"},
      {R"("quantizer": "fsq")", "such as [8, 5, 5, 5]"},
      {R"("quantizer": "fsq", "levels": [8, 5, 5], "codebook_size": null)", "hidden_size: 6"},
      {R"("quantizer": "fsq", "levels": [8, 5, 5, 5])", "no other codebook_size"},
      {R"("mel_loss_dims": [8])", "one for each of window_lengths"},
      {R"("window_lengths": [])", "at least one window"},
      {R"("discriminator": {}, "mel_loss_l1_scale": 0, "stft_loss_scale": 0,
          "commit_loss_scale": 0)",
       "a weight above 0"},
      {R"("segment_s": 0.02)", "a longer segment_s"},
      {R"("discriminator": {"periods": [400], "period_channels": [4, 4]})", "a longer segment_s"},
      {R"("discriminator": {"window_lengths": [64], "stft_bands": [0, 0.2, 1]})", "fewer bands"},
      {R"("discriminator": {"window_lengths": [64], "stft_bands": [0.5, 0.2]})", "ascending edges"},
      {R"("discriminator": {"periods": [2], "period_channels": [4]})", "at least two"}};
  for (const auto& [keys, expected] : cases) {
    CAPTURE(std::string(keys));
    CAPTURE(fixture.message_of(keys));
    CHECK(contains(fixture.message_of(keys), "[codec/training-options]"));
    CHECK(contains(fixture.message_of(keys), expected));
  }
  CHECK(fixture.message_of("") == "no error");
}

TEST_CASE("codes that transformers refuses make a warning") {
  Fixture fixture;
  const auto warnings_of = [&](const std::string& keys) {
    Config node = parse_json(fixture.plugins.registries().get<Model>("codec").tiny, "model");
    node["name"] = Config::scalar("codec");
    const Config changed = parse_json(keys, "model");
    for (const auto& [key, value] : changed.entries()) node[key] = value;
    std::string warnings;
    ModelContext context;
    context.path = "model";
    context.warn = [&](const std::string& message) { warnings += message; };
    fixture.plugins.create<Model>(node, context);
    return warnings;
  };
  CHECK(warnings_of(R"({"codebook_size": 8})").empty());
  CHECK(contains(warnings_of(R"({"codebook_size": 10})"),
                 "[codec/training-export] model.codebook_size: 10"));
  CHECK(contains(warnings_of("{" + std::string(kScalar) + "}"),
                 "[codec/training-export] model.quantizer"));
}

TEST_CASE("a batch without the agent's audio is refused") {
  Fixture fixture;
  const auto model = fixture.model();
  try {
    model->weigh(Batch());
    FAIL("it weighs a batch without audio");
  } catch (const Error& error) {
    CHECK(error.id() == "codec/training-audio");
    CHECK(contains(error.message(), "data.output_roles"));
  }
}
