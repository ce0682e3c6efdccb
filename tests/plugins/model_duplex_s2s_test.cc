// The model duplex_s2s, built through the host from small parts: our own rules. tests/reference
// compares results with NeMo.

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <doctest/doctest.h>

#include "common/capabilities.h"
#include "plan/plan_check.h"
#include "plugins/duplex_s2s/duplex_fixture.h"
#include "plugins/slot_conversations.h"
#include "plugins/stage_parts.h"
#include "s2s/conformance.h"

// Shape letters: B batch, S samples, T frames, K codebooks.

using namespace s2s;
using namespace s2s::test;

TEST_CASE("the total is the weighted sum of the losses, text 3 and audio 4 by default") {
  DuplexFixture f;
  const Batch batch = make_batch({12});
  const auto by_default = losses(*f.model(), batch);
  CHECK(by_default.at("total") ==
        near(3 * by_default.at("text_loss") + 4 * by_default.at("audio_loss")));
  const auto other = losses(*f.model(R"("text_loss_weight": 1, "audio_loss_weight": 0.5)"), batch);
  CHECK(other.at("total") == near(other.at("text_loss") + 0.5 * other.at("audio_loss")));
}

TEST_CASE("the codec is float32, whatever the precision of the model") {
  DuplexFixture f;
  const auto model = f.make(kCodec);
  std::vector<at::Tensor> expected;
  for (const NamedTensor& buffer : codec_of(*model).named_buffers()) {
    expected.push_back(buffer.tensor->clone());
  }
  model->materialize(at::kCPU, at::kBFloat16, 3);
  size_t i = 0;
  for (const NamedTensor& buffer : codec_of(*model).named_buffers()) {
    CHECK(buffer.tensor->equal(expected[i++]));
  }
}

TEST_CASE("padding does not count: a batch's losses are those of its rows") {
  DuplexFixture f;
  const Batch batch = make_batch({14, 9});
  const auto model = f.model();
  REQUIRE(model->weigh(batch).frames == 13 + 8);
  CHECK(model->weigh(batch).padded_frames == 2 * 13);
  const auto together = losses(*model, batch);
  const auto longer = losses(*model, row_of(batch, 0));
  const auto shorter = losses(*model, row_of(batch, 1));
  for (const char* name : {"text_loss", "audio_loss"}) {
    CHECK(together.at(name) == near((longer.at(name) * 13 + shorter.at(name) * 8) / 21));
  }
}

TEST_CASE("the operations of a step are those that PyTorch counts, and of the parts that train") {
  DuplexFixture f;
  const Batch batch = make_batch({14, 9});
  const auto model = f.model();
  // 26 positions. tests/reference/flops_reference.py llm: a Llama of these sizes, both ways.
  const double llm = 3654144, heads = 6.0 * 26 * (32 * 32 + 2 * 23 * 32);
  CHECK(model->weigh(batch).model_flops == llm + heads);
  CHECK(model->weigh(batch).audio_s == doctest::Approx(23 * 0.08));
  const double encoder = model->weigh(batch).encoder_flops;
  CHECK(encoder > 0);
  const auto frozen = f.model();
  for (const NamedTensor& p : frozen->named_parameters()) {
    if (p.name.starts_with("llm.") || p.name.starts_with("perception.encoder.")) {
      p.tensor->set_requires_grad(false);
    }
  }
  CHECK(frozen->weigh(batch).encoder_flops == encoder / 3);
  CHECK(frozen->weigh(batch).model_flops == llm + heads - 2.0 * 26 * 2 * 7680);
}

TEST_CASE("a row of a single frame has nothing to predict and takes nothing away") {
  DuplexFixture f;
  const Batch batch = make_batch({14, 1});
  const auto model = f.model();
  CHECK(model->weigh(batch).frames == 13);
  const double alone = losses(*model, row_of(batch, 0)).at("total");
  CHECK(losses(*model, batch).at("total") == near(alone));
}

TEST_CASE("in the reference's way padding counts in the sums and not in the divisor") {
  DuplexFixture f;
  const Batch batch = make_batch({14, 9});
  const auto masked = losses(*f.model(R"("loss_normalization": "local")"), batch);
  const auto reference =
      losses(*f.model(R"("loss_normalization": "local", "mask_padding": false)"), batch);
  CHECK(reference.at("text_loss") > 1.05 * masked.at("text_loss"));
  CHECK(reference.at("audio_loss") > 1.05 * masked.at("audio_loss"));
}

TEST_CASE("global normalization divides by the frames of the whole step, local by its own") {
  DuplexFixture f;
  const Batch batch = make_batch({14, 9});
  const auto global = f.model();
  const double own = losses(*global, batch).at("total");
  CHECK(losses(*global, batch, at_step(0, 21)).at("total") == near(own));
  CHECK(losses(*global, batch, at_step(0, 42)).at("total") == near(own / 2));
  const auto local = f.model(R"("loss_normalization": "local")");
  CHECK(losses(*local, batch, at_step(0, 42)).at("total") == near(own));
  StepContext two = at_step(0, 42);
  two.micro_batches = 2;
  CHECK(losses(*local, batch, two).at("total") == near(own / 2));
}

TEST_CASE("weights of the text labels part the text loss into its kinds") {
  DuplexFixture f;
  const Batch batch = make_batch({12});
  const double all = losses(*f.model(), batch).at("text_loss");
  double sum = 0;
  for (const std::string kind : {"pad", "bos", "eos", "text"}) {
    std::string keys;
    for (const std::string other : {"pad", "bos", "eos", "text"}) {
      keys += (keys.empty() ? "\"" : ", \"") + other + "\": " + (other == kind ? "1" : "0");
    }
    const double part =
        losses(*f.model("\"token_loss_weight\": {" + keys + "}"), batch).at("text_loss");
    CHECK(part > 0);
    sum += part;
  }
  CHECK(sum == near(all));
}

TEST_CASE("silence_keep 0 leaves the audio loss of the agent's turns only") {
  DuplexFixture f;
  const auto turns_only = f.model(R"("silence_keep": 0)");
  Batch batch = make_batch({12});
  const double some = losses(*turns_only, batch).at("audio_loss");
  const double all = losses(*f.model(), batch).at("audio_loss");
  CHECK(some > 0);
  CHECK(some < all);
  batch.target_tokens_BT.zero_();
  CHECK(losses(*turns_only, batch).at("audio_loss") == 0);
  batch.target_tokens_BT[0][0] = 1;  // one turn from the first frame to the end
  CHECK(losses(*turns_only, batch).at("audio_loss") ==
        near(losses(*f.model(), batch).at("audio_loss")));
}

TEST_CASE("stages change the losses, and can let the encoder rest") {
  DuplexFixture f;
  const Batch batch = make_batch({12});
  const std::string stages = R"("stages": [{"from_step": 0, "audio_loss_weight": 0},
      {"from_step": 5, "train_encoder": false}])";
  const auto model = f.model(stages);
  const auto first = losses(*model, batch, at_step(4));
  CHECK(first.count("audio_loss") == 0);
  CHECK(first.at("total") == near(3 * first.at("text_loss")));
  const auto second = losses(*model, batch, at_step(5));
  CHECK(second.at("total") == near(3 * second.at("text_loss") + 4 * second.at("audio_loss")));
  model->training_loss(batch, at_step(5)).total.backward();
  CHECK(learns(*model, "llm."));
  CHECK_FALSE(learns(*model, "perception.encoder."));
  model->training_loss(batch, at_step(4)).total.backward();
  CHECK(learns(*model, "perception.encoder."));
  const auto nothing = f.model(R"("stages": [{"text_loss_weight": 0, "audio_loss_weight": 0}])");
  CHECK_THROWS_WITH_AS(losses(*nothing, batch), doctest::Contains("[model/no-loss]"), Error);
}

TEST_CASE("noise on the model's history is for training only, and the seed decides it") {
  DuplexFixture f;
  const Batch batch = make_batch({12});
  const auto plain = f.model();
  const auto noisy = f.model(R"("history_noise": {"text_dropout": 0.5, "audio_corruption": 0.5,
      "audio_hidden_sequences": 1})");
  CHECK(noisy->evaluate(batch).at("text_loss") == plain->evaluate(batch).at("text_loss"));
  at::manual_seed(11);
  const double once = losses(*noisy, batch).at("total");
  at::manual_seed(11);
  CHECK(losses(*noisy, batch).at("total") == once);
  CHECK(once != losses(*plain, batch).at("total"));
  // All history hidden: what was said before makes no difference any more.
  const auto deaf = f.model(R"("history_noise": {"audio_hidden_sequences": 1,
      "audio_hidden_min": 1, "audio_hidden_max": 1})");
  Batch other = batch;
  other.codes_BKT = batch.codes_BKT.clone();
  other.codes_BKT.slice(2, 0, 8).fill_(7);
  CHECK(losses(*deaf, batch).at("text_loss") == near(losses(*deaf, other).at("text_loss")));
  CHECK(losses(*plain, batch).at("text_loss") != losses(*plain, other).at("text_loss"));
}

TEST_CASE("validation counts every valid label once, by kind and by codebook") {
  DuplexFixture f;
  const MetricSums sums = f.model()->evaluate(make_batch({14, 9}));
  CHECK(sums.at("text_loss").second == 21);
  CHECK(sums.at("text_nonpad_accuracy").second == 8);
  CHECK(sums.at("text_pad_accuracy").second == 13);
  CHECK(sums.at("audio_accuracy_0").second == 21);
  CHECK(sums.at("audio_accuracy_1").second == 21);
}

TEST_CASE("a session that is fed in pieces answers as the whole recording does") {
  DuplexFixture f;
  const auto model = f.make(std::string(kCodec) + ", " + kExtras);
  const Batch clips = make_batch({30}, 9);
  int given = 0;
  codec_of(*model).fit([&] { return given++ == 0 ? clips.source_audio_BS[0] : at::Tensor(); });
  const at::Tensor audio_1S = clips.source_audio_BS.slice(1, 0, 17000);
  const Generation whole =
      speech_of(*model).generate(audio_1S, at::tensor({17000}, at::kLong), true);
  CHECK(whole.token_lens_B[0].item<int64_t>() > 12);
  for (const int64_t piece : {int64_t{1280}, int64_t{777}, int64_t{17000}}) {
    const auto session = speech_of(*model).open_session();
    std::vector<at::Tensor> audio, codes;
    std::vector<int64_t> text;
    const auto take = [&](const DuplexSession::Output& out) {
      audio.push_back(out.audio_S);
      if (out.codes_TK.size(0) > 0) codes.push_back(out.codes_TK);
      text.insert(text.end(), out.text_tokens.begin(), out.text_tokens.end());
    };
    for (int64_t s = 0; s < 17000; s += piece)
      take(session->push(audio_1S[0].slice(0, s, s + piece)));
    take(session->finish());
    CAPTURE(piece);
    const int64_t frames = whole.token_lens_B[0].item<int64_t>();
    REQUIRE(static_cast<int64_t>(text.size()) >= frames);
    CHECK(at::tensor(text, at::kLong)
              .slice(0, 0, frames)
              .equal(whole.tokens_text_BT[0].slice(0, 0, frames)));
    CHECK(at::cat(codes).slice(0, 0, frames).equal(whole.tokens_audio_BTK[0].slice(0, 0, frames)));
    const int64_t samples = whole.audio_lens_B[0].item<int64_t>();
    CHECK(at::cat(audio).slice(0, 0, samples).equal(whole.audio_BS[0].slice(0, 0, samples)));
  }
}

TEST_CASE("conversations in slots say what each says alone") {
  DuplexFixture f;
  for (const std::string extras : {"", kExtras}) {
    const auto model = f.make(std::string(kCodec) + (extras.empty() ? "" : ", ") + extras);
    const Batch clips = make_batch({20, 20, 20, 20}, 9);
    int given = 0;
    codec_of(*model).fit([&] { return given++ == 0 ? clips.source_audio_BS[0] : at::Tensor(); });
    check_slots(speech_of(*model), clips.source_audio_BS);
  }
}

TEST_CASE("the whole model's plan covers every parameter") {
  DuplexFixture f;
  const auto model = f.model(kExtras);
  PlanCheckInputs inputs;
  inputs.mesh.tensor = 2;
  const Findings findings = check_plan(*model, model->configure_model(inputs.mesh), inputs);
  CHECK_MESSAGE(findings.empty(), (findings.empty() ? "" : findings.errors()[0].what()));
}

TEST_CASE("parts that do not fit each other are refused with the key to change") {
  DuplexFixture f;
  const std::string codes = kCodes;
  CHECK(f.id_of_making(codes) == "no error");
  CHECK(f.id_of_making(R"("codec": {"sample_rate": 16000})") == "model/part-missing");
  CHECK(f.id_of_making(R"("codec": {"name": "mel_fsq", "sample_rate": 22050})") ==
        "model/sample-rate");
  CHECK(f.id_of_making(codes + R"(, "tokens": {"pad": 200})") == "model/token-id");
  CHECK(f.id_of_making(codes + R"(, "tokens": {"pad": 2})") == "model/token-id");
  CHECK(f.id_of_making(codes, /*with_tokenizer=*/false) == "model/token-id");
  f.data["frame_length"] = Config::scalar("0.04");
  CHECK(f.id_of_making(codes) == "model/frame-rate");
  f.data["frame_length"] = Config::scalar("0.08");
  f.data["source_sample_rate"] = Config::scalar("8000");
  CHECK(f.id_of_making(codes) == "model/sample-rate");
}

TEST_CASE("a model without codec or tokenizer says so when they are needed") {
  DuplexFixture f;
  const auto model = f.make(std::string(kCodes) + R"(, "tokens": {"bos": 1, "eos": 2, "pad": 0})",
                            /*with_tokenizer=*/false);
  CHECK_THROWS_WITH_AS(codec_of(*model), doctest::Contains("[model/no-codec]"), Error);
  CHECK_THROWS_WITH_AS(require_capability<TextGenerator>(*model, "duplex_s2s", "write text"),
                       doctest::Contains("[model/capability]"), Error);
  CHECK_THROWS_WITH_AS(speech_of(*model).tokenizer(), doctest::Contains("[model/no-tokenizer]"),
                       Error);
}

TEST_CASE("shifts move the text channel and leave the control codes of the agent's voice") {
  DuplexFixture f;
  const Batch batch = make_batch({12});
  Batch silent = batch;  // the text has left the channel, its marks are in the codes
  silent.target_tokens_BT = at::zeros_like(batch.target_tokens_BT);
  silent.codes_BKT = batch.codes_BKT.clone();
  silent.codes_BKT.select(2, 1).fill_(20);
  silent.codes_BKT.select(2, 4).fill_(21);
  const auto expected = losses(*f.model(), silent);
  const auto shifted = losses(*f.model(R"("delay_text_channel_by": 12)"), batch);
  for (const auto& [name, value] : expected) CHECK(shifted.at(name) == near(value));
  const double text = losses(*f.model(), batch).at("text_loss");
  CHECK(losses(*f.model(R"("delay_text_channel_by": 0)"), batch).at("text_loss") == text);
  CHECK(losses(*f.model(R"("delay_text_eos_by": 2)"), batch).at("text_loss") != near(text));
}

TEST_CASE("the user's words can be predicted later than they are in the data") {
  DuplexFixture f;
  const Batch batch = make_batch({12});
  Batch later = batch;
  later.source_tokens_BT = at::constant_pad_nd(batch.source_tokens_BT, {2, -2}, 0);
  const std::string user = R"("user_text": {"enabled": true})";
  const auto expected = losses(*f.model(user), later);
  const auto shifted = losses(*f.model(user + R"(, "delay_source_text_by": 2)"), batch);
  CHECK(shifted.at("user_text_loss") == near(expected.at("user_text_loss")));
}

TEST_CASE("the model can be cut before and after each layer of its language model") {
  DuplexFixture f;
  check_stages(*f.model(), 2);
  check_stages(*f.model(kCodec), 2);
}

TEST_CASE("a model whose frames are several of the codec's trains and answers") {
  DuplexFixture f;
  f.data = parse_json(
      R"({"frame_length": 0.16, "source_sample_rate": 16000, "target_sample_rate": 16000})",
      "data");
  const std::string pooled =
      std::string(kCodec) + R"(, "modality_adapter": {"type": "frame_stacking",
        "frame_stacking": {"factor": 2}})";
  CHECK(f.id_of_making(pooled) == "model/frame-rate");
  const auto model = f.make(pooled + R"(, "codec_frames": 2)");
  CHECK(codec_of(*model).shape().num_codebooks == 4);
  CHECK(codec_of(*model).shape().samples_per_frame == 2560);
  codec_of(*model).fit([sent = false]() mutable {
    return std::exchange(sent, true) ? at::Tensor() : at::randn({16000}) * 0.1;
  });
  // On audio, which the codec encodes: the batch has no codes.
  CHECK(conformance::broken_promises(*model) == conformance::Answers{});
  const auto answers = find_capability<AnswersSpeech>(*model);
  REQUIRE(answers != nullptr);
  const at::Tensor audio_BS = at::randn({1, 10 * 2560}) * 0.1;
  const Generation whole =
      answers->generate(audio_BS, at::full({1}, audio_BS.size(1), at::kLong), true);
  CHECK(whole.audio_BS.size(1) == whole.tokens_text_BT.size(1) * 2560);
  const auto session = answers->open_session();
  std::vector<at::Tensor> codes = {session->push(audio_BS[0]).codes_TK, session->finish().codes_TK};
  CHECK(at::equal(at::cat(codes), whole.tokens_audio_BTK[0]));
}

TEST_CASE("duplex_s2s keeps the promises of a model") {
  DuplexFixture f;
  const auto model = f.model(kExtras);
  CHECK(conformance::broken_promises(*model, make_batch({12, 7})) == conformance::Answers{});
}
