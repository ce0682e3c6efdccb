// The model nemotron_voicechat. That whole recordings are answered as NeMo answers them is a
// reference file; here are streaming, and what is refused.

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include "common/capabilities.h"
#include "common/contains.h"
#include "common/places.h"
#include "compare/reference_file.h"
#include "plan/plan_check.h"
#include "plugins/built_plugins.h"
#include "plugins/slot_conversations.h"
#include "s2s/error.h"
#include "s2s/nn/weights.h"

using namespace s2s;
using namespace s2s::test;

namespace {

struct Fixture {
  BuiltPlugins plugins;
  ReferenceFile file =
      read_reference(source_dir() + "/tests/reference/data/nemo_voicechat.safetensors");

  std::unique_ptr<Model> model(const Config& options) {
    ModelContext context;
    context.registries = &plugins.registries();
    context.path = "model";
    const Component<Model>& component =
        plugins.registries().get<Model>("nemotron_voicechat", options, "model");
    auto built = component.create(options, context);
    built->materialize(at::kCPU, at::kFloat, 0);
    return built;
  }
  Config options() {
    return plugins.registries()
        .get<Model>("nemotron_voicechat", file.options, file.path)
        .translate(file.options);
  }
  std::unique_ptr<Model> model() {
    auto built = model(options());
    load_weights(*built, built->checkpoint_names(), file.weights, file.path);
    built->train(false);
    return built;
  }
};

}  // namespace

TEST_CASE("a session answers piece by piece what generate answers to the whole recording") {
  Fixture f;
  const auto model = f.model();
  AnswersSpeech& speech = speech_of(*model);
  const at::Tensor audio_S = f.file.input("source_audio")[0];
  const Generation whole =
      speech.generate(audio_S.unsqueeze(0), at::full({1}, audio_S.size(0), at::kLong), true);
  const std::unique_ptr<DuplexSession> session = speech.open_session();
  REQUIRE(session != nullptr);
  std::vector<at::Tensor> audio, codes;
  std::vector<int64_t> text;
  const auto take = [&](const DuplexSession::Output& out) {
    audio.push_back(out.audio_S);
    if (out.codes_TK.size(0) > 0) codes.push_back(out.codes_TK);
    text.insert(text.end(), out.text_tokens.begin(), out.text_tokens.end());
  };
  for (int64_t at = 0; at < audio_S.size(0); at += 1280) {
    take(session->push(audio_S.slice(0, at, at + 1280)));
  }
  CHECK(text.size() > 10);  // it speaks before the recording ends
  take(session->finish());
  CHECK(at::tensor(text, at::kLong).equal(whole.tokens_text_BT[0]));
  CHECK(at::cat(codes).equal(whole.tokens_audio_BTK[0]));
  const at::Tensor heard_S = at::cat(audio);
  REQUIRE(heard_S.size(0) == whole.audio_lens_B.item<int64_t>());
  CHECK(at::allclose(heard_S, whole.audio_BS[0], 1e-4, 1e-5));
  CHECK(whole.audio_BS.abs().max().item<double>() > 1e-3);
  CHECK(speech.answer_sample_rate_hz() == 1000);
}

TEST_CASE("conversations in slots say what each says alone") {
  Fixture f;
  const auto model = f.model();
  const at::Tensor audio_S = f.file.input("source_audio")[0];
  check_slots(speech_of(*model), at::stack({audio_S, audio_S * 0.5, audio_S.flip(0), -audio_S}));
}

TEST_CASE("its tensors have NeMo's names, and its plan covers each of them once") {
  Fixture f;
  const auto model = f.model();
  const NameMap names = model->checkpoint_names();
  CHECK(names.to_theirs("stt_model.llm.norm.weight") == "stt_model.llm.norm.weight");
  CHECK(names.to_theirs("tts_model.tts_model.marks.bos_emb") == "tts_model.tts_model.bos_emb");
  PlanCheckInputs inputs;
  inputs.mesh.tensor = 1;
  const Findings findings = check_plan(*model, model->configure_model(inputs.mesh), inputs);
  for (const Error& error : findings.errors()) CHECK_MESSAGE(false, error.what());
  CHECK(findings.errors().empty());
}

TEST_CASE("voice chat is not trained, and its parts must listen and speak") {
  Fixture f;
  const auto id_of = [](const auto& action) -> std::string {
    try {
      action();
    } catch (const Error& error) {
      return error.id();
    }
    return "no error";
  };
  const auto model = f.model();
  CHECK(id_of([&] { model->training_loss({}, {}); }) == "voicechat/training");
  Config deaf = f.options();
  deaf["stt"]["model"] = *deaf.find_path("speech_generation.model");
  CHECK(id_of([&] { f.model(deaf); }) == "model/capability");
  Config mute = f.options();
  mute["speech_generation"]["model"] = *mute.find_path("stt.model");
  CHECK(id_of([&] { f.model(mute); }) == "model/capability");
}
