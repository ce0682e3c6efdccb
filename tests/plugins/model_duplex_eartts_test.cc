// The model duplex_eartts: our own rules, and its prompts beside those of NeMo's data set.
// tests/reference compares results with NeMo.

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <doctest/doctest.h>

#include "audio/wave_file.h"
#include "common/capabilities.h"
#include "common/places.h"
#include "common/temporary_folder.h"
#include "compare/reference_file.h"
#include "plan/plan_check.h"
#include "plugins/built_plugins.h"
#include "plugins/eartts/eartts_fixture.h"
#include "plugins/stage_parts.h"
#include "s2s/conformance.h"
#include "s2s/data/resample.h"
#include "s2s/error.h"

using namespace s2s;
using namespace s2s::test;

namespace {

struct Fixture {
  BuiltPlugins plugins;
  std::unique_ptr<Model> model(const std::string& keys = "") {
    return make_duplex_eartts(plugins.registries(), keys);
  }
  std::string id_of(const std::string& keys) {
    try {
      model(keys);
    } catch (const Error& error) {
      return error.id();
    }
    return "no error";
  }
};

double loss(Model& model, const Batch& batch, int64_t step = 0) {
  const at::NoGradGuard no_grad;
  StepContext context;
  context.step = step;
  return model.training_loss(batch, context).total.item<double>();
}

}  // namespace

TEST_CASE("prompts of speech are those that NeMo's data set makes") {
  BuiltPlugins plugins;
  const ReferenceFile file =
      read_reference(source_dir() + "/tests/reference/data/nemo_eartts_duplex.safetensors");
  const Component<Model>& component =
      plugins.registries().get<Model>(file.name, file.options, file.path);
  ModelContext context;
  context.registries = &plugins.registries();
  context.path = "model";
  const auto model = component.create(component.translate(file.options), context);
  model->materialize(at::kCPU, at::kFloat, 0);
  load_weights(*model, model->checkpoint_names(), file.weights, file.path);

  Batch speech, nemo;
  nemo.others = file.inputs;
  speech.target_audio_BS = file.input("speech_audio");
  speech.target_audio_lens_B = file.input("speech_audio_lens");
  speech.target_tokens_BT = file.input("speech_tokens");
  speech.target_token_lens_B = at::tensor({11, 8}, at::kLong);
  for (const char* name : {"audio_prompt", "audio_prompt_lens"}) {
    speech.others[name] = file.input(name);
  }
  CHECK(model->weigh(speech).frames == model->weigh(nemo).frames);
  CHECK(model->weigh(speech).padded_frames == model->weigh(nemo).padded_frames);
  CHECK(loss(*model, speech) == doctest::Approx(loss(*model, nemo)).epsilon(1e-6));
  speech.others["audio_prompt"] = speech.others["audio_prompt"] * 0.5;
  CHECK(loss(*model, speech) != doctest::Approx(loss(*model, nemo)).epsilon(1e-6));
}

TEST_CASE("the voice is one of the agent's turns, chosen by cut and step") {
  Fixture f;
  const auto model = f.model();
  Batch batch = speech_batch(1);
  const double first = loss(*model, batch);
  CHECK(loss(*model, batch) == first);
  // Another user's turn changes nothing; without the agent's turns the voice is silence.
  batch.turns[0][0].end_s = 0.6;
  CHECK(loss(*model, batch) == first);
  batch.turns.clear();
  CHECK(loss(*model, batch) != first);
}

TEST_CASE("a prompt takes frames, of which the last one is learned") {
  Fixture f;
  // A frame that ends a turn, 4 of voice, 9 and 7 of text; the delayed audio is a frame longer.
  const BatchWeight weight = f.model()->weigh(speech_batch(2));
  CHECK(weight.frames == (1 + 4 + 9 - 3) + (1 + 4 + 7 - 3));
  CHECK(weight.padded_frames == 2 * (1 + 4 + 1 + 9));
  const BatchWeight bare =
      f.model(R"("prompt": {"add_audio_prompt": false})")->weigh(speech_batch(2));
  CHECK(bare.frames == (1 + 9) + (1 + 7));
  CHECK(bare.padded_frames == 2 * (1 + 9));
}

TEST_CASE("the speech model gets the codec's books, and keeps a checkpoint's") {
  Fixture f;
  const auto model = f.model();
  const auto find = [&](const std::string& name) {
    for (const NamedTensor& buffer : model->named_buffers()) {
      if (buffer.name == name) return *buffer.tensor;
    }
    return at::Tensor();
  };
  CHECK(find("tts_model.rvq_embs").eq(0).all().item<bool>());
  loss(*model, speech_batch(3));
  const at::Tensor books = find("tts_model.rvq_embs");
  CHECK(books[2].equal(find("audio_codec.prvq.mus_list.2")));
  CHECK(find("codec_silence_tokens").equal(codec_of(*model).silence_codes()));
}

TEST_CASE("text that ends a turn makes the frame before it silent") {
  Fixture f;
  std::map<std::string, at::Tensor> inputs = {
      {"next_subword_ids", at::tensor({6, 1, 7, 1}, at::kLong).view({1, 4})},
      {"audio_prompt", speech_batch(4).target_audio_BS.slice(0, 0, 1)},
      {"audio_prompt_lens", at::tensor({360}, at::kLong)}};
  const auto codes = [&](const std::string& silent) {
    const auto model = f.model(
        R"("generation": {"top_p_or_k": 1, "noise_scale": 0, "num_iter": 2},
           "inference_force_speech_silence_on_eos": )" +
        silent);
    model->train(false);
    const at::NoGradGuard no_grad;
    for (const NamedTensor& parameter : model->named_parameters()) {
      // A fresh model hardly depends on its own output.
      if (parameter.name == "tts_model.embed_code.weight") parameter.tensor->mul_(300);
    }
    auto& runs = require_capability<RunsReferences>(*model, "duplex_eartts", "run");
    const auto outputs = runs.reference_outputs(inputs, false);
    CHECK(outputs.at("audio").sizes() == at::IntArrayRef({1, 4 * 40}));
    return outputs.at("tokens_audio");
  };
  const at::Tensor forced = codes("true"), free = codes("false");
  CHECK(forced.sizes() == at::IntArrayRef({1, 4, 4}));
  CHECK(forced.select(1, 0).equal(free.select(1, 0)));
  CHECK_FALSE(forced.equal(free));
}

TEST_CASE("it speaks with the configuration's voice, else with the batch's, else with silence") {
  Fixture f;
  const TemporaryFolder folder;
  const std::string file = (folder.path() / "voice.wav").string();
  // Files have at least 1 kHz, this codec has 400 Hz.
  const at::Tensor recorded_S = at::linspace(-0.5, 0.5, 1000);
  write_wave(file, recorded_S, 4000);
  const at::Tensor voice_S = resample(recorded_S, 4000, 400);
  const auto own = f.model(R"("inference_speaker_reference": ")" + file + "\"");
  const auto other = f.model();
  auto& with_voice = require_capability<SpeaksText>(*own, "duplex_eartts", "speak");
  auto& without = require_capability<SpeaksText>(*other, "duplex_eartts", "speak");
  const Batch batch = speech_batch(5);
  const auto [voices_BS, lengths_B] = with_voice.voices_of(batch);
  CHECK(voices_BS.sizes() == at::IntArrayRef({2, 100}));
  CHECK(lengths_B.equal(at::tensor({100, 100}, at::kLong)));
  CHECK(at::allclose(voices_BS[1], voice_S, 0, 1e-4));
  const at::Tensor turns_BS = without.voices_of(batch).first;  // of the agent's turns
  CHECK(turns_BS.sizes() == at::IntArrayRef({2, 4 * 40}));
  CHECK(turns_BS.abs().amax(1).gt(0.1).all().item<bool>());
  Batch prompts;
  prompts.ids = {"a", "b", "c"};
  const at::Tensor silence_BS = without.voices_of(prompts).first;
  CHECK(silence_BS.size(0) == 3);
  CHECK(silence_BS.eq(0).all().item<bool>());
}

TEST_CASE("speech goes on from push to push as in one") {
  Fixture f;
  const auto model = f.model(R"("generation": {"top_p_or_k": 1, "noise_scale": 0, "num_iter": 2})");
  auto& speaks = require_capability<SpeaksText>(*model, "duplex_eartts", "speak");
  const at::Tensor text_BN = at::tensor({0, 3, 6, 1, 7, 2, 4, 1}, at::kLong).view({2, 4});
  const auto [voices_BS, lengths_B] = speaks.voices_of(speech_batch(6));
  const at::Tensor whole = speaks.open_speech(voices_BS, lengths_B)->push(text_BN);
  const auto speech = speaks.open_speech(voices_BS, lengths_B);
  std::vector<at::Tensor> pieces;
  for (const auto& [begin, end] : {std::pair(0, 1), {1, 1}, {1, 4}}) {
    pieces.push_back(speech->push(text_BN.slice(1, begin, end)));
  }
  CHECK(pieces[1].size(1) == 0);
  CHECK(at::cat(pieces, 1).equal(whole));
}

TEST_CASE("the plan of duplex_eartts covers every parameter, once") {
  Fixture f;
  const auto model = f.model();
  PlanCheckInputs inputs;
  inputs.mesh.tensor = 2;
  const Findings findings = check_plan(*model, model->configure_model(inputs.mesh), inputs);
  for (const Error& error : findings.errors()) CHECK_MESSAGE(false, error.what());
  CHECK(findings.errors().empty());
}

TEST_CASE("duplex_eartts refuses a codec of other sizes or of another kind") {
  Fixture f;
  CHECK(f.id_of(R"("prompt": {"audio_prompt_duration": 0.2})") == "eartts/sizes");
  const std::string codec = R"("codec": {"name": "mel_fsq", "sample_rate": 16000, "levels": [6],
    "num_groups": )";
  CHECK(f.id_of(codec + "3}") == "eartts/sizes");
  const auto model = f.model(codec + R"(4}, "prompt": {"add_audio_prompt": false})");
  try {
    loss(*model, speech_batch(5));
    FAIL("no error");
  } catch (const Error& error) {
    // A codec that measures statistics asks for them first.
    CHECK((error.id() == "codec/not-fitted" || error.id() == "eartts/codec"));
  }
}

TEST_CASE("duplex_eartts keeps the promises of a model, and lists its stages") {
  Fixture f;
  check_stages(*f.model(), 2, "tts_model.backbone");
  CHECK(conformance::broken_promises(*f.model(), speech_batch(1)) == conformance::Answers{});
}
