// The model duplex_s2s_speech_decoder, built through the host: our own rules. tests/reference
// compares results with NeMo.

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <doctest/doctest.h>

#include "common/capabilities.h"
#include "plan/plan_check.h"
#include "plugins/duplex_s2s/duplex_fixture.h"
#include "plugins/slot_conversations.h"

// Shape letters: B batch, S samples, T frames, K codebooks.

using namespace s2s;
using namespace s2s::test;

namespace {

struct DecoderFixture : DuplexFixture {
  DecoderFixture() { type = "duplex_s2s_speech_decoder"; }
};

/// kSpeechDecoder with another value of a key.
std::string decoder_with(const std::string& key, const std::string& value) {
  std::string text = kSpeechDecoder;
  const size_t at = text.find("\"" + key + "\": ") + key.size() + 4;
  return text.replace(at, text.find_first_of(",}", at) - at, value);
}

at::Tensor gradient_of(Model& model, const std::string& name) {
  for (const NamedTensor& p : model.named_parameters()) {
    if (p.name == name) return p.tensor->grad();
  }
  FAIL("no parameter " << name);
  return {};
}

}  // namespace

TEST_CASE("a session of the speech decoder answers as the whole recording does") {
  DecoderFixture f;
  const auto model = f.make(std::string(kCodec) + ", " + kExtras + ", " + kSpeechDecoder);
  const Batch clips = make_batch({30}, 9);
  int given = 0;
  codec_of(*model).fit([&] { return given++ == 0 ? clips.source_audio_BS[0] : at::Tensor(); });
  const at::Tensor audio_1S = clips.source_audio_BS.slice(1, 0, 17000);
  const Generation whole =
      speech_of(*model).generate(audio_1S, at::tensor({17000}, at::kLong), true);
  const int64_t frames = whole.token_lens_B[0].item<int64_t>();
  CHECK(frames > 12);
  for (const int64_t piece : {int64_t{777}, int64_t{17000}}) {
    const auto session = speech_of(*model).open_session();
    std::vector<at::Tensor> codes;
    std::vector<int64_t> text;
    const auto take = [&](const DuplexSession::Output& out) {
      if (out.codes_TK.size(0) > 0) codes.push_back(out.codes_TK);
      text.insert(text.end(), out.text_tokens.begin(), out.text_tokens.end());
    };
    for (int64_t s = 0; s < 17000; s += piece) {
      take(session->push(audio_1S[0].slice(0, s, s + piece)));
    }
    take(session->finish());
    CAPTURE(piece);
    REQUIRE(static_cast<int64_t>(text.size()) >= frames);
    CHECK(at::tensor(text, at::kLong)
              .slice(0, 0, frames)
              .equal(whole.tokens_text_BT[0].slice(0, 0, frames)));
    CHECK(at::cat(codes).slice(0, 0, frames).equal(whole.tokens_audio_BTK[0].slice(0, 0, frames)));
  }
}

TEST_CASE("conversations of the speech decoder in slots say what each says alone") {
  DecoderFixture f;
  const auto model = f.make(std::string(kCodec) + ", " + kExtras + ", " + kSpeechDecoder);
  const Batch clips = make_batch({20, 20, 20, 20}, 9);
  int given = 0;
  codec_of(*model).fit([&] { return given++ == 0 ? clips.source_audio_BS[0] : at::Tensor(); });
  check_slots(speech_of(*model), clips.source_audio_BS);
}

TEST_CASE("guidance changes what is said; a scale of 1 is no guidance") {
  DecoderFixture f;
  const Batch batch = make_batch({20, 16});
  const auto codes_with = [&](const std::string& decoder) {
    const auto model = f.model(decoder);
    return speech_of(*model)
        .generate(batch.source_audio_BS, batch.source_audio_lens_B, false)
        .tokens_audio_BTK;
  };
  const at::Tensor plain = codes_with(decoder_with("cfg_unconditional_prob", "0.0"));
  CHECK(codes_with(decoder_with("cfg_scale", "1.0")).equal(plain));
  CHECK_FALSE(codes_with(decoder_with("cfg_scale", "6.0")).equal(plain));
}

TEST_CASE("the chance to train without the condition is drawn for each step") {
  DecoderFixture f;
  const Batch batch = make_batch({14, 9});
  const auto model = f.model(decoder_with("cfg_unconditional_prob", "0.3"));
  int hidden = 0;
  for (uint64_t step = 0; step < 40; ++step) {
    at::manual_seed(step);
    for (const NamedTensor& p : model->named_parameters()) p.tensor->mutable_grad().reset();
    model->train(true);
    model->training_loss(batch, {}).total.backward();
    hidden += gradient_of(*model, "speech_generation.input_proj.weight").defined() ? 0 : 1;
  }
  CHECK(hidden > 4);  // 12 expected
  CHECK(hidden < 21);
}

TEST_CASE("a detached speech decoder keeps the audio loss from the language model") {
  DecoderFixture f;
  const Batch batch = make_batch({14, 9});
  std::string keys = kSpeechDecoder;
  keys.insert(keys.find('{') + 1, R"("detach_input": true, )");
  const auto model = f.model(keys + R"(, "text_loss_weight": 0)");
  model->train(true);
  model->training_loss(batch, {}).total.backward();
  CHECK(learns(*model, "speech_generation."));
  CHECK_FALSE(learns(*model, "llm."));
}

TEST_CASE("the plan covers the speech decoder, whose head is split like the text head") {
  DecoderFixture f;
  const auto model = f.model(kSpeechDecoder);
  PlanCheckInputs inputs;
  inputs.mesh.tensor = 2;
  const ShardPlan plan = model->configure_model(inputs.mesh);
  const Findings findings = check_plan(*model, plan, inputs);
  CHECK_MESSAGE(findings.empty(), (findings.empty() ? "" : findings.errors()[0].what()));
  CHECK(plan.heads.back().module == "speech_generation.final_proj");
  CHECK(plan.heads.back().groups == 2);
}

TEST_CASE("a speech decoder that cannot be, and a conversation that is too long, are refused") {
  DecoderFixture f;
  const std::string codes = std::string(kCodes) + ", ";
  CHECK(f.id_of_making(codes + kSpeechDecoder) == "no error");
  CHECK(f.id_of_making(codes + decoder_with("sa_n_heads", "5")) == "model/speech-decoder");
  const auto id_with = [&](const std::string& key) {
    std::string decoder = kSpeechDecoder;
    return f.id_of_making(codes + decoder.insert(decoder.find('{') + 1, key + ", "));
  };
  CHECK(id_with(R"("has_xattn": false, "xa_d_memory": 768, "apply_norm_to_cond": true)") ==
        "no error");
  for (const char* key : {R"("has_xattn": true)", R"("is_causal": false)", R"("use_moe": true)"}) {
    CHECK(id_with(key) == "model/speech-decoder");
  }
  const auto model = f.model(decoder_with("max_length_causal_mask", "10"));
  const Batch batch = make_batch({14});
  try {
    model->training_loss(batch, {});
    FAIL("nothing was thrown");
  } catch (const Error& error) {
    CHECK(error.id() == "model/speech-decoder-length");
  }
}
