#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>

#include "common/temporary_folder.h"
#include "compare/reference_file.h"
#include "plugins/stage_parts.h"
#include "plugins/two_level/made_model.h"
#include "s2s/conformance.h"
#include "s2s/nn/token_sampling.h"
#include "weights/safetensors.h"

using namespace s2s;
using namespace s2s::test;

namespace {

TensorMap named(const TensorMap& tensors, const std::string& prefix) {
  TensorMap found;
  for (const auto& [name, tensor] : tensors) {
    if (name.starts_with(prefix)) found[name.substr(prefix.size())] = tensor;
  }
  return found;
}

RunsReferences& runs(Model& model) {
  return require_capability<RunsReferences>(model, "test", "run");
}

/// Streams for the sizes of the folder kyutai_moshi.
Batch kyutai_batch() {
  Batch batch;
  batch.codes_BKT = at::randint(0, 16, {2, 4, 6}, generator_of(9), at::kLong);
  batch.code_lens_B = at::full({2}, 6, at::kLong);
  batch.others["user_codes"] = at::randint(0, 16, {2, 4, 6}, generator_of(10), at::kLong);
  batch.target_tokens_BT = at::randint(0, 40, {2, 6}, generator_of(11), at::kLong);
  return batch;
}

}  // namespace

TEST_CASE("a folder with Kyutai's files gives the losses of Kyutai's class") {
  TwoLevelModels fixture;
  const std::string folder = "tests/reference/data/kyutai_moshi";
  const auto model = fixture.make(R"({"name": "moshi", "path": ")" + folder + "\"", "{}", false);
  const TensorMap expected = read_weights(source_dir() + "/" + folder + "/expected.safetensors");
  const TensorMap outputs = runs(*model).reference_outputs(named(expected, "input/"), true);
  CHECK(at::allclose(outputs.at("logits"), expected.at("output/logits"), 1e-4, 1e-5));
  for (const char* name : {"text_loss", "depth_loss", "loss"}) {
    CAPTURE(std::string(name));
    CHECK(value(outputs.at(name)) ==
          doctest::Approx(value(expected.at(std::string("output/") + name))).epsilon(1e-5));
  }
}

TEST_CASE("of a file with more books than the model has, the first are read") {
  TwoLevelModels fixture;
  const std::string source = source_dir() + "/tests/reference/data/kyutai_moshi";
  TensorMap weights = read_weights(source + "/model.safetensors");
  TensorMap more;  // PersonaPlex's depth decoder goes on with the user's books
  for (const auto& [name, tensor] : weights) {
    const bool is_joined = name.starts_with("depformer.") && name.find("_proj") != name.npos;
    if (is_joined) more[name] = at::cat({tensor, at::ones_like(tensor)});
  }
  for (const auto& [name, tensor] : more) weights[name] = tensor;
  weights["linears.4.weight"] = at::ones({16, 16});
  weights["depformer_emb.3.weight"] = at::ones({17, 16});
  const TemporaryFolder folder;
  write_safetensors(folder / "model.safetensors", weights);
  std::filesystem::copy_file(source + "/config.json", folder / "config.json");
  const auto path = [](const std::string& of) {
    return R"({"name": "moshi", "path": ")" + of + "\"";
  };
  const auto whole = fixture.make(path(source), "{}", false);
  const auto first = fixture.make(path(folder.path().string()), "{}", false);
  const Batch batch = kyutai_batch();
  CHECK(value(first->training_loss(batch, {}).total) ==
        value(whole->training_loss(batch, {}).total));
}

TEST_CASE("configurations that change the result are refused") {
  TwoLevelModels fixture;
  const Component<Model>& moshi = fixture.plugins.registries().get<Model>("moshi");
  const Component<Model>& csm = fixture.plugins.registries().get<Model>("csm");
  const auto id = [&](const Component<Model>& component, const std::string& json) {
    return fixture.id_of([&] { component.translate(parse_json(json, "config.json")); });
  };
  const std::string kyutai = R"({"dep_q": 8, "depformer_dim": 1024, )";
  CHECK(id(moshi, kyutai + R"("norm": "rms_norm_f32"})").empty());
  CHECK(id(moshi, kyutai + R"("norm": "layer_norm"})") == "model/translate");
  CHECK(id(moshi, kyutai + R"("lora_name": "adapter.safetensors"})") == "model/translate");
  CHECK(id(moshi, R"({"dep_q": 4, "n_q": 16, "depformer_dim": 1024})") == "model/translate");
  CHECK(id(moshi, kyutai + R"("delays": [0, 0, 2]})") == "model/translate");
  for (const char* const size :
       {R"("n_q": 1, "delays": [0, 0]})", R"("dim": 4611686018427387904})", R"("num_layers": 0})",
        R"("hidden_scale": 1e300})", R"("hidden_scale": -1})"}) {
    CAPTURE(size);
    CHECK(id(moshi, kyutai + size) == "model/translate");
  }
  CHECK(id(moshi, R"({"model_type": "moshi", "depth_decoder_config": {"hidden_act": "gelu"}})") ==
        "weights/config");
  CHECK(id(moshi, R"({"model_type": "moshi", "hiden_size": 8})") == "weights/config");
  CHECK(id(csm, R"({"model_type": "csm", "depth_decoder_config": {"mlp": 1}})") ==
        "weights/config");
  CHECK(id(csm, R"({"model_type": "llama"})") == "weights/config");
}

TEST_CASE("a folder as transformers saves it gives the losses of its class") {
  TwoLevelModels fixture;
  for (const char* name : {"moshi", "csm"}) {
    CAPTURE(std::string(name));
    const std::string file =
        source_dir() + "/tests/reference/data/hf_" + name + "_next_frame.safetensors";
    const ReferenceFile reference = read_reference(file);
    const SafetensorsFile stored = SafetensorsFile::open(file);
    const TemporaryFolder folder;
    TensorMap weights = reference.weights;
    // Parts that are not of the model: its codec, and for CSM a table that transformers may repeat.
    const bool is_csm = std::string(name) == "csm";
    weights[is_csm ? "codec_model.a" : "audio_encoder.a"] = at::zeros({1});
    if (is_csm) {
      weights["backbone_model.embed_tokens.embed_audio_tokens.weight"] =
          weights.at("depth_decoder.model.embed_tokens.weight");
      weights.erase("depth_decoder.model.embed_tokens.weight");
    }
    write_safetensors(folder / "model.safetensors", weights);
    folder.write("config.json", stored.metadata().at("options"));
    const auto model = fixture.make(
        std::string(R"({"name": ")") + name + R"(", "path": ")" + folder.path().string() + "\"",
        "{}", false);
    const TensorMap outputs = runs(*model).reference_outputs(reference.inputs, true);
    CHECK(value(outputs.at("loss")) ==
          doctest::Approx(value(reference.output("loss"))).epsilon(1e-5));
  }
}

TEST_CASE("frames before a word weigh as padding in Moshi's text loss") {
  TwoLevelModels fixture;
  Batch batch = two_level_batch({9, 9});
  batch.target_tokens_BT.fill_(7);
  const auto text_loss = [&](const char* options) {
    const auto model = fixture.make(kMoshi, options);
    return value(model->training_loss(batch, {}).parts.at("text_loss"));
  };
  const double whole = text_loss(R"({"text_padding_weight": 0.5})");
  CHECK(text_loss(R"({"text_padding_weight": 0.5, "end_of_padding_id": 7})") ==
        doctest::Approx(0.5 * whole).epsilon(1e-6));
}

TEST_CASE("Kyutai's weights of another size are refused with the names of all tensors") {
  TwoLevelModels fixture;
  const std::string path = R"({"name": "moshi", "path": "tests/reference/data/kyutai_moshi")";
  CHECK(fixture.id_of([&] { fixture.make(path, R"({"num_codebooks": 5})", false); }) ==
        "model/kyutai-weights");
}

TEST_CASE("a batch with codes trains as the same streams of a reference file") {
  TwoLevelModels fixture;
  for (const int64_t shorter : {9, 4}) {
    CAPTURE(shorter);
    const Batch batch = two_level_batch({9, shorter});
    const auto model = fixture.make(kMoshi, R"({"text_padding_weight": 1,
        "first_codebook_weight": 1})");
    const LossTerms terms = model->training_loss(batch, {});
    const TensorMap outputs =
        runs(*model).reference_outputs({{"ids", batch.target_tokens_BT},
                                        {"moshi_codes", batch.codes_BKT},
                                        {"user_codes", batch.others.at("user_codes")},
                                        {"lengths", batch.code_lens_B}},
                                       true);
    CHECK(value(terms.total) == doctest::Approx(value(outputs.at("loss"))).epsilon(1e-6));
    CHECK(model->weigh(batch).frames == 9 + shorter);
    const auto metrics = model->metrics_of(model->evaluate(batch));
    CHECK(metrics.at("text_loss") ==
          doctest::Approx(value(terms.parts.at("text_loss"))).epsilon(1e-5));
    // Metrics average over labels, the loss over frames: the late books lack one label per row.
    const double frames = 9.0 + static_cast<double>(shorter);
    CHECK(metrics.at("depth_loss") * (3 * frames - 4) / (3 * frames) ==
          doctest::Approx(value(terms.parts.at("depth_loss"))).epsilon(1e-5));
    for (const std::string& name : model->metric_names()) CHECK(metrics.count(name) == 1);
  }
}

TEST_CASE("the codes of padding do not matter") {
  TwoLevelModels fixture;
  const auto model = fixture.make(kMoshi);
  Batch batch = two_level_batch({9, 4});
  const double before = value(model->training_loss(batch, {}).total);
  for (at::Tensor codes : {batch.codes_BKT, batch.others.at("user_codes")}) {
    codes[1].narrow(1, 4, 5).fill_(7);
  }
  batch.target_tokens_BT[1].narrow(0, 4, 5).fill_(7);
  CHECK(value(model->training_loss(batch, {}).total) == doctest::Approx(before).epsilon(1e-6));
}

TEST_CASE("CSM makes rows of text and frames from a speech batch") {
  TwoLevelModels fixture;
  const auto model = fixture.make(kCsm);
  const Batch batch = two_level_batch({5, 3});
  // By hand: BOS, two words, EOS, the frames, and a frame of end codes.
  std::vector<int64_t> words = fixture.tokenizer.encode("two words");
  words.insert(words.begin(), 1);
  words.push_back(2);
  const auto num_text = static_cast<int64_t>(words.size());
  const int64_t width = num_text + 6;
  Batch rows;
  rows.others["text"] = at::full({2, width}, 198, at::kLong);
  rows.others["text"].narrow(1, 0, num_text).copy_(at::tensor(words, at::kLong));
  rows.others["frames"] = at::zeros({2, width, kBooks}, at::kLong);
  rows.others["mask"] = at::zeros({2, width}, at::kBool);
  rows.others["labels"] = at::full({2, width, kBooks}, -100, at::kLong);
  for (const auto& [row, frames] : {std::pair<int64_t, int64_t>{0, 5}, {1, 3}}) {
    const at::Tensor codes = batch.codes_BKT[row].narrow(1, 0, frames).t();
    rows.others["frames"][row].narrow(0, num_text, frames).copy_(codes);
    rows.others["mask"][row].narrow(0, num_text, frames + 1).fill_(true);
    rows.others["labels"][row].narrow(0, num_text, frames).copy_(codes);
    rows.others["labels"][row].narrow(0, num_text + frames, 1).fill_(0);
  }
  CHECK(value(model->training_loss(batch, {}).total) ==
        doctest::Approx(value(model->training_loss(rows, {}).total)).epsilon(1e-6));
  CHECK(model->weigh(batch).frames == 10);
  CHECK(model->weigh(rows).frames == 10);
  const auto metrics = model->metrics_of(model->evaluate(batch));
  CHECK(metrics.at("depth_loss") ==
        doctest::Approx(value(model->training_loss(batch, {}).parts.at("depth_loss"))));
  for (const std::string& name : model->metric_names()) CHECK(metrics.count(name) == 1);
}

TEST_CASE("probe batches of both models train") {
  TwoLevelModels fixture;
  for (const char* base : {kMoshi, kCsm}) {
    const auto model = fixture.make(base);
    auto& probes = require_capability<MakesProbeBatches>(*model, "test", "probe");
    const Batch batch = probes.probe_batch({2, 0.8, 4});
    CHECK(model->weigh(batch).frames == 20);
    CHECK(std::isfinite(value(model->training_loss(batch, {}).total)));
  }
}

TEST_CASE("config.json of PersonaPlex and of Moshi without keys have Moshi's published sizes") {
  TwoLevelModels fixture;
  for (const char* type : {"personaplex", "moshi"}) {
    const Component<Model>& moshi = fixture.plugins.registries().get<Model>("moshi");
    const Config options = moshi.translate(parse_json(
        std::string(R"({"version": "7b-v1", "model_type": ")") + type + "\"}", "config"));
    CHECK(options.find("hidden_size")->text() == "4096");
    CHECK(options.find("audio_vocab_size")->text() == "2048");
    CHECK(options.find_path("depth_decoder.ffn_dim")->text() == "5632");
  }
}

TEST_CASE("what does not fit a model of two levels is refused") {
  TwoLevelModels fixture;
  CHECK(fixture.id_of([&] { fixture.make(kMoshi, R"({"ffn_dim": 49})"); }) == "model/ffn-dim");
  CHECK(fixture.id_of([&] {
    fixture.make(kMoshi, R"({"codec": {"name": "mel_fsq", "sample_rate": 16000}})");
  }) == "model/codec-books");
  CHECK(fixture.id_of([&] { fixture.make(kMoshi, "{}", false); }) == "model/token-id");  // no PAD
  const auto moshi = fixture.make(kMoshi, R"({"tokens": {"pad": 0}})", false);
  CHECK(fixture.id_of([&] { codec_of(*moshi); }) == "model/no-codec");
  CHECK(fixture.id_of([&] { speech_of(*moshi).tokenizer(); }) == "model/no-tokenizer");
  Batch batch = two_level_batch({4, 4});
  batch.codes_BKT = batch.codes_BKT.narrow(1, 0, 2);
  CHECK(fixture.id_of([&] { moshi->training_loss(batch, {}); }) == "model/streams");
  batch = two_level_batch({4, 4});
  batch.others["user_codes"] = batch.others["user_codes"].narrow(0, 0, 1);
  CHECK(fixture.id_of([&] { moshi->training_loss(batch, {}); }) == "model/streams");
  batch = two_level_batch({4, 4});
  batch.target_tokens_BT.reset();
  CHECK(fixture.id_of([&] { moshi->training_loss(batch, {}); }) == "model/streams");
  const auto heard = fixture.make(kMoshi, kMelCodec);
  CHECK(fixture.id_of([&] { heard->training_loss(Batch{}, {}); }) == "model/streams");
  CHECK(fixture.id_of([&] { fixture.make(kCsm, R"({"text_bos_id": 200})"); }) == "model/token-id");
  const auto csm = fixture.make(kCsm, "{}", false);
  CHECK(fixture.id_of([&] { csm->training_loss(two_level_batch({4}), {}); }) ==
        "model/no-tokenizer");
  Batch rows;
  rows.others["frames"] = at::zeros({2, 5, kBooks}, at::kLong);
  CHECK(fixture.id_of([&] { csm->training_loss(rows, {}); }).empty());
  rows.others["mask"] = at::ones({2, 4}, at::kBool);
  CHECK(fixture.id_of([&] { csm->training_loss(rows, {}); }) == "model/streams");
  const auto telling = fixture.make(kCsm);
  Batch textless = two_level_batch({4, 4});
  textless.target_texts.clear();
  CHECK(fixture.id_of([&] { telling->training_loss(textless, {}); }) == "model/streams");
}

TEST_CASE("CSM rows with labels of book 0 only train the backbone") {
  TwoLevelModels fixture;
  const auto model = fixture.make(kCsm);
  Batch rows;
  rows.others["frames"] = two_level_batch({6, 6}).codes_BKT.transpose(1, 2).contiguous();
  rows.others["labels"] = rows.others["frames"].clone();
  rows.others["labels"].narrow(2, 1, kBooks - 1).fill_(-100);
  const LossTerms terms = model->training_loss(rows, {});
  CHECK(value(terms.parts.at("depth_loss")) == 0);
  terms.total.backward();
  CHECK(std::isfinite(value(terms.total)));
  CHECK(model->metrics_of(model->evaluate(rows)).count("depth_loss") == 0);
}

TEST_CASE(
    "layers of moshi and csm are the stages of a pipeline between their embeddings and heads") {
  TwoLevelModels fixture;
  check_stages(*fixture.make(kMoshi), 2, "decoder.model");
  check_stages(*fixture.make(kCsm), 2, "backbone_model");
}

TEST_CASE("moshi and csm keep the promises of a model") {
  TwoLevelModels fixture;
  for (const char* options : {kMoshi, kCsm}) {
    const auto model = fixture.make(options);
    CHECK(conformance::broken_promises(*model, two_level_batch({6, 4})) == conformance::Answers{});
  }
}
