// The model duplex_s2s, built through the host from small parts. What it computes is compared with
// NeMo by tests/reference; here stand the rules that are ours.

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <doctest/doctest.h>

#include "core/data/table_tokenizer.h"
#include "parallel/plan_check.h"
#include "plugins/built_plugins.h"
#include "s2s/error.h"
#include "s2s/weights.h"

// Shape letters: B batch, S samples, T frames, K codebooks.

using namespace s2s;
using s2s::test::BuiltPlugins;
using s2s::test::TableTokenizer;

namespace {

constexpr const char* kParts = R"("name": "duplex_s2s",
    "llm": {"name": "llama", "vocab_size": 200, "hidden_size": 32, "intermediate_size": 48,
            "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2},
    "encoder": {"name": "fastconformer",
      "preprocessor": {"sample_rate": 16000, "features": 32, "normalize": "NA", "dither": 0.0},
      "encoder": {"feat_in": 32, "n_layers": 1, "d_model": 32, "n_heads": 4,
        "subsampling_conv_channels": 8, "ff_expansion_factor": 2, "conv_context_size": "causal",
        "conv_kernel_size": 5, "att_context_size": [16, 0], "att_context_style": "chunked_limited",
        "dropout": 0.0, "dropout_pre_encoder": 0.0, "dropout_emb": 0.0, "dropout_att": 0.0}})";
constexpr const char* kCodes = R"("codec": {"num_codebooks": 2, "codebook_size": 20})";
constexpr const char* kCodec = R"("codec": {"name": "mel_fsq", "sample_rate": 16000,
    "num_groups": 2, "decoder_iterations": 2})";
/// Everything that the reference does not have.
constexpr const char* kExtras =
    R"("text_hold": true, "user_text": {"enabled": true, "copy": true})";
constexpr const char* kData =
    R"({"frame_length": 0.08, "source_sample_rate": 16000, "target_sample_rate": 16000})";

struct Fixture {
  BuiltPlugins plugins;
  TableTokenizer tokenizer;
  Config data = parse_json(kData, "data");

  std::unique_ptr<SpeechModel> make(const std::string& keys, bool with_tokenizer = true) {
    BuildContext context;
    context.path = "model";
    context.data = &data;
    context.tokenizer = with_tokenizer ? &tokenizer : nullptr;
    const std::string text = std::string("{") + kParts + ", " + keys + "}";
    auto model = plugins.create<SpeechModel>(parse_json(text, "test.json"), context);
    model->materialize(at::kCPU, at::kFloat, 3);
    return model;
  }
  /// The model on given codes, with more keys.
  std::unique_ptr<SpeechModel> model(const std::string& keys = "") {
    return make(std::string(kCodes) + (keys.empty() ? "" : ", ") + keys);
  }
  std::string id_of_making(const std::string& keys, bool with_tokenizer = true) {
    try {
      make(keys, with_tokenizer);
    } catch (const Error& error) {
      return error.id();
    }
    return "no error";
  }
};

/// Rows of a batch on the 80 ms grid; frames beyond a row's length hold what must not count.
Batch make_batch(const std::vector<int64_t>& frames, uint64_t seed = 5) {
  at::manual_seed(seed);
  const auto rows = static_cast<int64_t>(frames.size());
  const int64_t width = *std::max_element(frames.begin(), frames.end());
  Batch batch;
  batch.source_audio_lens_B = at::tensor(frames, at::kLong) * 1280;
  batch.source_audio_BS = at::randn({rows, width * 1280}) * 0.1;
  batch.codes_BKT = at::randint(20, {rows, 2, width}, at::kLong);
  batch.code_lens_B = at::tensor(frames, at::kLong);
  batch.target_tokens_BT = at::zeros({rows, width}, at::kLong);
  batch.target_tokens_BT.slice(1, 1, 5) = at::tensor({1, 30, 40, 2}, at::kLong);
  batch.target_token_lens_B = batch.code_lens_B;
  batch.source_tokens_BT = at::zeros({rows, width}, at::kLong);
  batch.source_tokens_BT.slice(1, 2, 4) = at::tensor({50, 60}, at::kLong);
  batch.source_token_lens_B = batch.code_lens_B;
  for (int64_t b = 0; b < rows; ++b) {
    const int64_t end = frames[static_cast<size_t>(b)];
    batch.source_audio_BS[b].slice(0, end * 1280).zero_();
    batch.ids.push_back("row");
  }
  return batch;
}

/// One row of a batch, cut to its length.
Batch row_of(const Batch& batch, int64_t b) {
  const int64_t frames = batch.code_lens_B[b].item<int64_t>();
  const auto cut = [&](const at::Tensor& x, int64_t dim, int64_t end) {
    return x.slice(0, b, b + 1).slice(dim, 0, end).clone();
  };
  Batch row = batch;
  row.source_audio_BS = cut(batch.source_audio_BS, 1, frames * 1280);
  row.codes_BKT = cut(batch.codes_BKT, 2, frames);
  row.target_tokens_BT = cut(batch.target_tokens_BT, 1, frames);
  row.source_tokens_BT = cut(batch.source_tokens_BT, 1, frames);
  for (at::Tensor* lens : {&row.source_audio_lens_B, &row.code_lens_B, &row.target_token_lens_B,
                           &row.source_token_lens_B}) {
    *lens = lens->slice(0, b, b + 1).clone();
  }
  row.ids = {"row"};
  return row;
}

std::map<std::string, double> losses(SpeechModel& model, const Batch& batch,
                                     const StepContext& context = {}) {
  model.train(true);
  const LossTerms terms = model.training_loss(batch, context);
  std::map<std::string, double> values{{"total", terms.total.item<double>()}};
  for (const auto& [name, value] : terms.parts) values[name] = value.item<double>();
  return values;
}

StepContext at_step(int64_t step, double loss_frames = 0) {
  StepContext context;
  context.step = step;
  context.loss_frames = loss_frames;
  return context;
}

doctest::Approx near(double value) { return doctest::Approx(value).epsilon(1e-4); }

/// A gradient that is there and not all zero.
bool learns(SpeechModel& model, const std::string& prefix) {
  for (const NamedTensor& p : model.named_parameters()) {
    const at::Tensor& grad = p.tensor->grad();
    if (p.name.starts_with(prefix) && grad.defined() && grad.abs().max().item<double>() > 0) {
      return true;
    }
  }
  return false;
}

}  // namespace

TEST_CASE("the total is the weighted sum of the losses, text 3 and audio 4 by default") {
  Fixture f;
  const Batch batch = make_batch({12});
  const auto by_default = losses(*f.model(), batch);
  CHECK(by_default.at("total") ==
        near(3 * by_default.at("text_loss") + 4 * by_default.at("audio_loss")));
  const auto other = losses(*f.model(R"("text_loss_weight": 1, "audio_loss_weight": 0.5)"), batch);
  CHECK(other.at("total") == near(other.at("text_loss") + 0.5 * other.at("audio_loss")));
}

TEST_CASE("padding does not count: a batch's losses are those of its rows") {
  Fixture f;
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

TEST_CASE("a row of a single frame has nothing to predict and takes nothing away") {
  Fixture f;
  const Batch batch = make_batch({14, 1});
  const auto model = f.model();
  CHECK(model->weigh(batch).frames == 13);
  const double alone = losses(*model, row_of(batch, 0)).at("total");
  CHECK(losses(*model, batch).at("total") == near(alone));
}

TEST_CASE("in the reference's way padding counts in the sums and not in the divisor") {
  Fixture f;
  const Batch batch = make_batch({14, 9});
  const auto masked = losses(*f.model(R"("loss_normalization": "local")"), batch);
  const auto reference =
      losses(*f.model(R"("loss_normalization": "local", "mask_padding": false)"), batch);
  CHECK(reference.at("text_loss") > 1.05 * masked.at("text_loss"));
  CHECK(reference.at("audio_loss") > 1.05 * masked.at("audio_loss"));
}

TEST_CASE("global normalisation divides by the frames of the whole step, local by its own") {
  Fixture f;
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
  Fixture f;
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
  Fixture f;
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
  Fixture f;
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
  Fixture f;
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

TEST_CASE("the user-text head is off unless asked for, and then has a loss and accuracies") {
  Fixture f;
  const Batch batch = make_batch({12});
  CHECK(losses(*f.model(), batch).count("user_text_loss") == 0);
  const auto model = f.model(R"("user_text": {"enabled": true, "loss_weight": 2})");
  const auto values = losses(*model, batch);
  CHECK(values.at("total") == near(3 * values.at("text_loss") + 4 * values.at("audio_loss") +
                                   2 * values.at("user_text_loss")));
  const MetricSums sums = model->evaluate(batch);
  CHECK(sums.at("user_text_nonpad_accuracy").second == 2);
  CHECK(sums.at("user_text_pad_accuracy").second == 10);
}

TEST_CASE("what the reference does not have is off, and learns when it is on") {
  Fixture f;
  for (const NamedTensor& p : f.model()->named_parameters()) {
    CHECK_FALSE(p.name.starts_with("user_text."));
    CHECK_FALSE(p.name.starts_with("embed_held_text"));
  }
  const auto model = f.model(kExtras);
  model->train(true);
  model->training_loss(make_batch({12}), {}).total.backward();
  for (const NamedTensor& p : model->named_parameters()) {
    CAPTURE(p.name);
    CHECK(learns(*model, p.name));
  }
}

TEST_CASE("validation counts every valid label once, by kind and by codebook") {
  Fixture f;
  const MetricSums sums = f.model()->evaluate(make_batch({14, 9}));
  CHECK(sums.at("text_loss").second == 21);
  CHECK(sums.at("text_nonpad_accuracy").second == 8);
  CHECK(sums.at("text_pad_accuracy").second == 13);
  CHECK(sums.at("audio_accuracy_0").second == 21);
  CHECK(sums.at("audio_accuracy_1").second == 21);
}

TEST_CASE("a session that is fed in pieces answers as the whole recording does") {
  Fixture f;
  const auto model = f.make(std::string(kCodec) + ", " + kExtras);
  const Batch clips = make_batch({30}, 9);
  int given = 0;
  model->codec().fit([&] { return given++ == 0 ? clips.source_audio_BS[0] : at::Tensor(); });
  const at::Tensor audio_1S = clips.source_audio_BS.slice(1, 0, 17000);
  const Generation whole = model->generate(audio_1S, at::tensor({17000}, at::kLong), true);
  CHECK(whole.token_lens_B[0].item<int64_t>() > 12);
  for (const int64_t piece : {int64_t{1280}, int64_t{777}, int64_t{17000}}) {
    const auto session = model->open_session();
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

TEST_CASE("copied and held text are in the text's state, take part in training and can be told") {
  Fixture f;
  const Batch batch = make_batch({12});
  const std::string copy =
      R"("text_hold": true, "user_text": {"enabled": true, "copy": true, "truth_share": )";
  const auto heard = f.model(copy + "0}");
  const auto told = f.model(copy + "1}");
  CHECK(losses(*heard, batch).at("text_loss") != losses(*told, batch).at("text_loss"));
  CHECK(heard->evaluate(batch).at("text_loss") == told->evaluate(batch).at("text_loss"));
  told->training_loss(batch, at_step(0)).total.backward();
  CHECK(learns(*told, "user_text.copy.query"));
  CHECK(learns(*told, "user_text.copy.key"));
  CHECK(learns(*told, "user_text.copy.recency"));
  CHECK(learns(*told, "embed_held_text"));
}

TEST_CASE("the whole model's plan covers every parameter") {
  Fixture f;
  const auto model = f.model(kExtras);
  PlanCheckInputs inputs;
  inputs.mesh.tensor = 2;
  const Findings findings = check_plan(*model, model->configure_model(inputs.mesh), inputs);
  CHECK_MESSAGE(findings.empty(), (findings.empty() ? "" : findings.errors()[0].what()));
}

TEST_CASE("parts that do not fit each other are refused with the key to change") {
  Fixture f;
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
  Fixture f;
  const auto model = f.make(std::string(kCodes) + R"(, "tokens": {"bos": 1, "eos": 2, "pad": 0})",
                            /*with_tokenizer=*/false);
  CHECK_THROWS_WITH_AS(model->codec(), doctest::Contains("[model/no-codec]"), Error);
  CHECK_THROWS_WITH_AS(model->tokenizer(), doctest::Contains("[model/no-tokenizer]"), Error);
}
