// The model duplex_stt, built through the host from small parts. What it computes is compared with
// NeMo by tests/reference; here are our own rules.

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "common/capabilities.h"
#include "common/temporary_folder.h"
#include "plan/plan_check.h"
#include "plugins/duplex_stt/stt_fixture.h"
#include "s2s/nn/token_sampling.h"
#include "weights/safetensors.h"

// Shape letters: B batch, S samples, T frames.

using namespace s2s;
using namespace s2s::test;

namespace {

/// Losses by name, with the options of a model.
std::map<std::string, double> losses_of(SttFixture& f, const std::string& keys,
                                        const Batch& batch) {
  return losses(*f.model(keys), batch);
}

std::string id_of_losses(Model& model, const Batch& batch) {
  try {
    losses(model, batch);
  } catch (const Error& error) {
    return error.id();
  }
  return "no error";
}

}  // namespace

TEST_CASE("the total is the weighted sum of agent, user and text losses") {
  SttFixture f;
  const Batch batch = make_batch({12});
  const auto agent = losses_of(f, "", batch);
  CHECK(agent.at("total") == near(agent.at("audio_to_text_loss")));
  CHECK_FALSE(agent.contains("asr_loss"));
  const auto both = losses_of(
      f, std::string(kUserText) + R"(, "text_loss_weight": 3, "asr_loss_weight": 0.5)", batch);
  CHECK(both.at("audio_loss") ==
        near(3 * both.at("audio_to_text_loss") + 0.5 * both.at("asr_loss")));
  CHECK(both.at("total") == near(both.at("audio_loss")));
  Batch mixed = batch;
  mixed.text_BT = text_batch().text_BT;
  mixed.text_labels_BT = text_batch().text_labels_BT;
  // One row of audio beside two of text.
  CHECK(f.model()->weigh(mixed).frames == f.model()->weigh(batch).frames);
  CHECK(f.model()->weigh(mixed).model_flops ==
        f.model()->weigh(batch).model_flops + f.model()->weigh(text_batch()).model_flops);
  const auto all = losses_of(f, R"("text_to_text_loss_weight": 0.25)", mixed);
  CHECK(all.at("audio_to_text_loss") == near(agent.at("audio_to_text_loss")));
  CHECK(all.at("total") == near(0.75 * all.at("audio_loss") + 0.25 * all.at("text_to_text_loss")));
}

TEST_CASE("text data is a mean over its labels and needs no audio") {
  SttFixture f;
  const auto model = f.model(R"("text_to_text_loss_weight": 1)");
  const Batch batch = text_batch();
  const double loss = losses(*model, batch).at("total");
  CHECK(model->weigh(batch).tokens == 5 + 3);
  CHECK(model->weigh(batch).normalizer() == 0);
  Batch first = batch, second = batch;
  for (auto& [part, row] : {std::pair{&first, 0}, {&second, 1}}) {
    part->text_BT = batch.text_BT.slice(0, row, row + 1);
    part->text_labels_BT = batch.text_labels_BT.slice(0, row, row + 1);
  }
  CHECK(loss ==
        near((5 * losses(*model, first).at("total") + 3 * losses(*model, second).at("total")) / 8));
  StepContext two;
  two.micro_batches = 2;
  CHECK(losses(*model, batch, two).at("total") == near(loss / 2));
  CHECK(model->evaluate(batch).at("text_to_text_loss").second == 8);
}

TEST_CASE("padding does not count: a batch's losses are those of its rows") {
  SttFixture f;
  const Batch batch = make_batch({14, 9});
  const auto model = f.model(kUserText);
  // This encoder gives a frame more than the row has text. NeMo divides by its frames minus one.
  REQUIRE(model->weigh(batch).frames == 14 + 9);
  // A shorter row has its last label only in a wider batch.
  Batch shorter = batch;
  shorter.target_token_lens_B = at::tensor({14, 8}, at::kLong);
  const auto together = losses(*model, shorter);
  const auto longer_row = losses(*model, row_of(shorter, 0));
  const auto shorter_row = losses(*model, row_of(shorter, 1));
  for (const char* name : {"audio_to_text_loss", "asr_loss"}) {
    CHECK(together.at(name) == near((longer_row.at(name) * 14 + shorter_row.at(name) * 9) / 23));
  }
}

TEST_CASE("without mask_sequence_loss padding counts in the sums") {
  SttFixture f;
  const Batch batch = make_batch({14, 9});
  const double masked = losses_of(f, "", batch).at("total");
  CHECK(losses_of(f, R"("mask_sequence_loss": false)", batch).at("total") > 1.05 * masked);
}

TEST_CASE("weights of the labels part both losses into their kinds") {
  SttFixture f;
  const Batch batch = make_batch({12});
  const auto all = losses_of(f, kUserText, batch);
  std::map<std::string, double> sums;
  for (const std::string kind : {"pad", "bos", "eos", "text"}) {
    std::string keys;
    for (const std::string other : {"pad", "bos", "eos", "text"}) {
      keys += (keys.empty() ? "\"" : ", \"") + other + "\": " + (other == kind ? "1" : "0");
    }
    const auto part =
        losses_of(f, std::string(kUserText) + ", \"token_loss_weight\": {" + keys + "}", batch);
    for (const char* name : {"audio_to_text_loss", "asr_loss"}) sums[name] += part.at(name);
  }
  for (const auto& [name, sum] : sums) CHECK(sum == near(all.at(name)));
}

TEST_CASE("in ASR data the agent is not trained after its first BOS, if labels have weights") {
  SttFixture f;
  Batch batch = make_batch({12});
  const std::string weights = R"("token_loss_weight": {"pad": 0, "bos": 1, "eos": 0, "text": 0})";
  const std::string words = R"("token_loss_weight": {"pad": 0, "bos": 0, "eos": 0, "text": 1})";
  const double bos = losses_of(f, weights, batch).at("total");
  CHECK(losses_of(f, words, batch).at("total") > 0);
  batch.others["task_is_asr"] = at::ones({1}, at::kLong);
  CHECK(losses_of(f, weights, batch).at("total") == near(bos));
  CHECK(losses_of(f, words, batch).at("total") == 0);
  // The key counts, not what it says.
  const std::string ones = R"("token_loss_weight": {"pad": 1, "bos": 1, "eos": 1, "text": 1})";
  const double all = losses_of(f, "", batch).at("total");
  CHECK(losses_of(f, ones, batch).at("total") < all);
  CHECK(losses_of(f, R"("token_loss_weight": {})", batch).at("total") == near(all));
}

TEST_CASE("global normalization divides by the frames of the whole step, local by its own") {
  SttFixture f;
  const Batch batch = make_batch({14, 9});
  const auto global = f.model();
  const double own = losses(*global, batch).at("total");
  CHECK(losses(*global, batch, at_step(0, 46)).at("total") == near(own / 2));
  const auto local = f.model(R"("loss_normalization": "local")");
  StepContext two = at_step(0, 42);
  two.micro_batches = 2;
  CHECK(losses(*local, batch, two).at("total") == near(own / 2));
}

TEST_CASE("shifts of the text channels change the labels that are trained") {
  SttFixture f;
  const Batch batch = make_batch({12});
  Batch later = batch;
  later.target_tokens_BT = at::constant_pad_nd(batch.target_tokens_BT, {2, -2}, 0);
  later.source_tokens_BT = at::constant_pad_nd(batch.source_tokens_BT, {1, -1}, 0);
  const auto shifted = losses_of(
      f, std::string(kUserText) + R"(, "delay_text_channel_by": 2, "delay_source_text_by": 1)",
      batch);
  const auto expected = losses_of(f, kUserText, later);
  for (const auto& [name, value] : expected) CHECK(shifted.at(name) == near(value));
}

TEST_CASE("the user's channel learns, and the agent's answer depends on it") {
  SttFixture f;
  const Batch batch = make_batch({12});
  const auto model = f.model(kUserText);
  model->training_loss(batch, {}).total.backward();
  for (const char* part :
       {"asr_head", "embed_asr_tokens", "embed_tokens", "lm_head", "perception.encoder", "llm."}) {
    CAPTURE(std::string(part));
    CHECK(learns(*model, part));
  }
}

TEST_CASE("the user's channel begins as a copy of the language model's stored weights") {
  for (const bool is_tied : {false, true}) {
    CAPTURE(is_tied);
    SttFixture f;
    f.is_tied = is_tied;
    const auto source = f.model();
    TensorMap stored;
    for (const NamedTensor& parameter : source->named_parameters()) {
      const std::string& name = parameter.name;
      if (name.starts_with("llm.")) stored["model." + name.substr(4)] = *parameter.tensor;
      if (name == "embed_tokens.weight") stored["model." + name] = *parameter.tensor;
      if (name == "lm_head.weight") stored[name] = *parameter.tensor;
    }
    const TemporaryFolder folder;
    write_safetensors(folder / "model.safetensors", stored, {});
    folder.write("config.json",
                 std::string(R"({"model_type": "llama", "architectures": ["LlamaForCausalLM"],
                   "vocab_size": 200, "hidden_size": 32, "intermediate_size": 48,
                   "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
                   "hidden_act": "silu", "tie_word_embeddings": )") +
                     (is_tied ? "true" : "false") + "}");
    std::string json = stt_json(kUserText, is_tied);
    const size_t begin = json.find("\"llm\"");
    json.replace(begin, json.find("\"encoder\"") - begin,
                 R"("llm": {"name": "llama", "path": ")" + folder.path().string() + R"("}, )");
    ModelContext context;
    context.path = "model";
    context.data = &f.data;
    context.tokenizer = &f.tokenizer;
    const auto model = f.plugins.create<Model>(parse_json(json, "test.json"), context);
    model->materialize(at::kCPU, at::kFloat, 17);
    TensorMap values;
    for (const NamedTensor& parameter : model->named_parameters()) {
      values[parameter.name] = *parameter.tensor;
    }
    const at::Tensor& embedding = stored.at("model.embed_tokens.weight");
    CHECK(values.at("embed_tokens.weight").equal(embedding));
    CHECK(values.at("embed_asr_tokens.weight").equal(embedding));
    CHECK(values.at("asr_head.weight").equal(is_tied ? embedding : stored.at("lm_head.weight")));
  }
}

TEST_CASE("a session that is fed in pieces answers as the whole recording does") {
  SttFixture f;
  const auto model = f.model(std::string(kForcedTurns) + R"(, "system_prompt": "be brief")");
  const at::Tensor audio_1S = make_batch({30}, 9).source_audio_BS.slice(1, 0, 30000);
  const Generation whole =
      speech_of(*model).generate(audio_1S, at::tensor({30000}, at::kLong), true);
  CHECK(whole.text.size() == 1);
  CHECK_FALSE(whole.audio_BS.defined());
  CHECK(speech_of(*model).answer_sample_rate_hz() == 0);
  const int64_t frames = whole.token_lens_B[0].item<int64_t>();
  CHECK(frames > 20);
  for (const int64_t piece : {int64_t{1280}, int64_t{777}, int64_t{30000}}) {
    CAPTURE(piece);
    const auto session = speech_of(*model).open_session();
    std::vector<int64_t> text;
    const auto take = [&](const DuplexSession::Output& out) {
      CHECK(out.audio_S.numel() == 0);
      text.insert(text.end(), out.text_tokens.begin(), out.text_tokens.end());
    };
    for (int64_t s = 0; s < 30000; s += piece) {
      take(session->push(audio_1S[0].slice(0, s, s + piece)));
    }
    take(session->finish());
    REQUIRE(static_cast<int64_t>(text.size()) >= frames);
    CHECK(at::tensor(text, at::kLong)
              .slice(0, 0, frames)
              .equal(whole.tokens_text_BT[0].slice(0, 0, frames)));
  }
}

TEST_CASE("a system prompt changes the answers, and is not part of them") {
  SttFixture f;
  const Batch batch = make_batch({30, 20});
  const auto answer = [&](const std::string& keys) {
    const auto model = f.model(keys);
    return speech_of(*model).generate(batch.source_audio_BS, batch.source_audio_lens_B, false);
  };
  const Generation plain = answer(""), prompted = answer(R"("system_prompt": "be brief now")");
  CHECK(prompted.token_lens_B.equal(plain.token_lens_B));
  CHECK(prompted.tokens_text_BT.sizes() == plain.tokens_text_BT.sizes());
  CHECK_FALSE(prompted.tokens_text_BT[0].equal(plain.tokens_text_BT[0]));
  CHECK(losses(*f.model(), batch).at("total") ==
        losses(*f.model(R"("system_prompt": "be brief now")"), batch).at("total"));
}

TEST_CASE("an answer to validation data has its prompts and what the user said") {
  SttFixture f;
  Batch batch = make_batch({30, 20});
  const auto model = f.model(kUserText);
  AnswersSpeech& speech = speech_of(*model);
  const Generation plain = speech.answer(batch, false);
  CHECK(plain.tokens_text_BT.equal(
      speech.generate(batch.source_audio_BS, batch.source_audio_lens_B, false).tokens_text_BT));
  CHECK(plain.user_text.size() == 2);
  CHECK(plain.user_text != plain.text);
  CHECK(speech_of(*f.model()).answer(batch, false).user_text.empty());
  // The same prompt in the data as in the options.
  std::vector<int64_t> prompt = f.tokenizer.encode("be brief now");
  prompt.insert(prompt.begin(), f.tokenizer.special_ids().bos);
  prompt.push_back(f.tokenizer.special_ids().eos);
  const auto length = static_cast<int64_t>(prompt.size());
  batch.others["prompt_tokens"] = at::tensor(prompt, at::kLong).expand({2, length});
  batch.others["prompt_token_lens"] = at::full({2}, length, at::kLong);
  const Generation prompted = speech.answer(batch, false);
  // Ranks of a sharded model have prompts of one width, also where no row has one.
  Batch wide = batch;
  wide.others["prompt_tokens"] = at::constant_pad_nd(batch.others["prompt_tokens"], {0, 3});
  CHECK(speech.answer(wide, false).text == prompted.text);
  wide.others["prompt_token_lens"] = at::zeros({2}, at::kLong);
  CHECK(speech.answer(wide, false).text == plain.text);
  const auto own = f.model(std::string(kUserText) + R"(, "system_prompt": "be brief now")");
  CHECK_FALSE(prompted.tokens_text_BT.equal(plain.tokens_text_BT));
  CHECK(prompted.tokens_text_BT.equal(
      speech_of(*own)
          .generate(batch.source_audio_BS, batch.source_audio_lens_B, false)
          .tokens_text_BT));
}

TEST_CASE("the operations of a step are those of its matrices") {
  SttFixture f;
  const Batch batch = make_batch({14, 9});
  const auto model = f.model(), user = f.model(kUserText);
  // 28 positions: the formula of the language model (tests/reference/flops_reference.py), whose
  // attention reads 14 positions, and the projection; the user's head is one more matrix.
  const double queries = 2 * 4 * 8, layers = 2.0 * (32 * 32 * 2 + 32 * 16 * 2 + 3 * 32 * 48);
  const double matrices = layers + 200 * 32 + 32 * 32;
  CHECK(model->weigh(batch).model_flops == 28 * (6 * matrices + 12 * queries * 14));
  CHECK(user->weigh(batch).model_flops == model->weigh(batch).model_flops + 28.0 * 6 * 200 * 32);
  CHECK(model->weigh(batch).encoder_flops > 0);
  CHECK(model->weigh(text_batch()).encoder_flops == 0);
  CHECK(model->weigh(text_batch()).model_flops == 10 * (6 * matrices + 12 * queries * 5));
}

TEST_CASE("boosts decide the agent's tokens while decoding and change no loss") {
  SttFixture f;
  const Batch batch = make_batch({12});
  const auto plain = f.model();
  const auto boosted = f.model(R"("inference_eos_boost": 1000)");
  CHECK(losses(*plain, batch).at("total") == losses(*boosted, batch).at("total"));
  const Generation answer =
      speech_of(*boosted).generate(batch.source_audio_BS, batch.source_audio_lens_B, false);
  CHECK(answer.tokens_text_BT.eq(2).all().item<bool>());
  CHECK(answer.text == std::vector<std::string>{""});
}

TEST_CASE("sampling draws the agent's tokens, the same ones for a seed") {
  SttFixture f;
  const auto model = f.model();
  const Batch batch = make_batch({30});
  const auto answer = [&](double temperature, int64_t seed) {
    SamplingOptions sampling;
    sampling.temperature = temperature;
    sampling.repetition_penalty = 1.2;
    sampling.seed = seed;
    speech_of(*model).choose_tokens_by(sampling);
    return speech_of(*model)
        .generate(batch.source_audio_BS, batch.source_audio_lens_B, false)
        .tokens_text_BT;
  };
  CHECK(answer(2, 1).equal(answer(2, 1)));
  CHECK_FALSE(answer(2, 1).equal(answer(2, 2)));
}

TEST_CASE("metrics have the names that the model announces") {
  SttFixture f;
  Batch batch = make_batch({14, 9});
  batch.source_tokens_BT.select(1, 5).fill_(2);
  // Every row begins its turn at once: five frames before the user ends.
  const auto model =
      f.model(std::string(kUserText) + R"(, "answer_metrics": true, "inference_bos_boost": 1000)");
  model->train(false);
  const MetricSums sums = model->evaluate(batch);
  std::vector<std::string> names;
  for (const auto& [name, value] : sums) {
    names.push_back(name);
    CHECK(value.second > 0);
  }
  CHECK(sums.at("turn_taking_acc") == std::pair(2.0, 2.0));
  CHECK(sums.at("turn_taking_latency").first == doctest::Approx(2 * -5 * 0.08));
  CHECK(sums.at("src_empty_text_rate").second == 2);
  std::vector<std::string> announced = model->metric_names();
  std::sort(announced.begin(), announced.end());
  CHECK(names == announced);
}

TEST_CASE("a probe batch trains every position") {
  SttFixture f;
  const auto model = f.model(kUserText);
  const Batch batch =
      require_capability<MakesProbeBatches>(*model, "test", "probe").probe_batch({2, 1.6, 0});
  CHECK(batch.size() == 2);
  CHECK(model->weigh(batch).frames == model->weigh(batch).padded_frames);
  CHECK(std::isfinite(losses(*model, batch).at("total")));
}

TEST_CASE("options that contradict each other are refused before the model is built") {
  SttFixture f;
  CHECK(f.id_of_making(R"("force_turn_taking": true)") == "model/forced-turns");
  const std::string old = std::string(kForcedTurns) + R"(, "user_bos_token": )";
  CHECK(f.id_of_making(old + "\"^\"") == "no error");
  CHECK(f.id_of_making(old + "\" \"") == "model/user-turn-token");
  CHECK(f.id_of_making(old + R"("^", "tokens": {"bos": 1, "eos": 2, "pad": 0})", false) ==
        "model/no-tokenizer");
  const auto mute = f.model(R"("tokens": {"bos": 1, "eos": 2, "pad": 0})", false);
  CHECK_THROWS_WITH_AS(speech_of(*mute).tokenizer(), doctest::Contains("[model/no-tokenizer]"),
                       Error);
}

TEST_CASE("batches that lack what an option reads are refused") {
  SttFixture f;
  Batch batch = make_batch({12});
  batch.source_tokens_BT = at::Tensor();
  const auto user = f.model(kUserText);
  CHECK(id_of_losses(*user, batch) == "model/no-user-text");
  Batch packed = text_batch();
  packed.documents = {{0, 0, 3}, {0, 3, 3}};
  CHECK(id_of_losses(*user, packed) == "model/packed-text");
}
