// Moshi's answers to audio, of whole recordings and live.

#include <doctest/doctest.h>

#include "plugins/slot_conversations.h"
#include "plugins/two_level/made_model.h"
#include "s2s/nn/token_sampling.h"

using namespace s2s;
using namespace s2s::test;

TEST_CASE("Moshi answers audio, each row as alone") {
  TwoLevelModels fixture;
  const auto model = fixture.make(kMoshi, kMelCodec);
  fit_codec(*model);
  const at::Tensor audio = at::randn({2, 16000}, generator_of(5)) * 0.1;
  const at::Tensor lengths = at::tensor({16000, 9000}, at::kLong);
  AnswersSpeech& speech = speech_of(*model);
  const Generation both = speech.generate(audio, lengths, true);
  const Generation first = speech.generate(audio.narrow(0, 0, 1), lengths.narrow(0, 0, 1), false);
  CHECK(at::equal(both.tokens_text_BT[0], first.tokens_text_BT[0]));
  CHECK(at::equal(both.tokens_audio_BTK[0], first.tokens_audio_BTK[0]));
  CHECK(both.tokens_audio_BTK.size(2) == kBooks);
  CHECK(both.audio_BS.size(1) == both.tokens_audio_BTK.size(1) * 1280);
  CHECK(both.text.size() == 2);
  SamplingOptions sampling;
  sampling.temperature = 1;
  speech.choose_tokens_by(sampling);
  const Generation drawn = speech.generate(audio, lengths, false);
  CHECK_FALSE(at::equal(drawn.tokens_text_BT, both.tokens_text_BT));
  CHECK(at::equal(drawn.tokens_text_BT, speech.generate(audio, lengths, false).tokens_text_BT));
}

namespace {

/// Mimi with random weights, at the rate of mel_fsq.
constexpr const char* kMimiCodec = R"({"codec": {"name": "mimi", "sampling_rate": 16000,
    "upsampling_ratios": [8, 8, 10], "num_filters": 4, "hidden_size": 16, "upsample_groups": 16,
    "num_hidden_layers": 1, "num_attention_heads": 2, "num_key_value_heads": 2,
    "intermediate_size": 16, "codebook_size": 20, "codebook_dim": 8,
    "vector_quantization_hidden_dimension": 8, "num_quantizers": 4, "num_codebooks": 3}})";

constexpr int64_t kFrame = 1280;

struct Answer {
  std::vector<int64_t> text;
  std::vector<at::Tensor> codes, audio;

  void take(DuplexSession::Output piece) {
    text.insert(text.end(), piece.text_tokens.begin(), piece.text_tokens.end());
    if (piece.codes_TK.numel() > 0) codes.push_back(piece.codes_TK);
    audio.push_back(piece.audio_S);
  }
};

/// `late`: frames that the codec waits for.
Answer live(AnswersSpeech& speech, const SamplingOptions& sampling, const at::Tensor& audio_S,
            int64_t chunk, int64_t late) {
  const auto session = speech.open_session(sampling);
  REQUIRE(session != nullptr);
  Answer answer;
  for (int64_t begin = 0; begin < audio_S.size(0); begin += chunk) {
    answer.take(session->push(audio_S.slice(0, begin, begin + chunk)));
    const int64_t heard = std::min(begin + chunk, audio_S.size(0)) / kFrame;
    CHECK(static_cast<int64_t>(answer.text.size()) >= heard - late);
  }
  answer.take(session->finish());
  return answer;
}

}  // namespace

TEST_CASE("a live session of Moshi says what it says to the whole recording") {
  TwoLevelModels fixture;
  // Longer than the attention window, and no whole number of frames.
  const at::Tensor audio_S = at::randn({25000}, generator_of(5)) * 0.1;
  SamplingOptions sampling;
  for (const auto& [codec, late] : {std::pair{kMelCodec, int64_t{1}}, {kMimiCodec, 0}}) {
    const auto model = fixture.make(kMoshi, codec);
    if (!codec_of(*model).is_fitted()) fit_codec(*model);
    AnswersSpeech& speech = speech_of(*model);
    for (const double temperature : {0.0, 1.0}) {
      sampling.temperature = temperature;
      speech.choose_tokens_by(sampling);
      const Generation whole =
          speech.generate(audio_S.unsqueeze(0), at::tensor({25000}, at::kLong), true);
      for (const int64_t chunk : {int64_t{1280}, int64_t{1000}, int64_t{3000}}) {
        CAPTURE(std::string(codec).substr(0, 30));
        CAPTURE(chunk);
        const Answer answer = live(speech, sampling, audio_S, chunk, late);
        CHECK(at::equal(at::tensor(answer.text, at::kLong), whole.tokens_text_BT[0]));
        CHECK(at::equal(at::cat(answer.codes), whole.tokens_audio_BTK[0]));
        CHECK(at::allclose(at::cat(answer.audio), whole.audio_BS[0], 1e-4, 1e-5));
      }
    }
  }
  const auto deaf = fixture.make(kMoshi);
  CHECK(speech_of(*deaf).open_session() == nullptr);
}

TEST_CASE("conversations of Moshi in slots say what each says alone") {
  TwoLevelModels fixture;
  const auto model = fixture.make(kMoshi, kMimiCodec);
  check_slots(speech_of(*model), at::randn({4, 20000}, generator_of(6)) * 0.1);
}

TEST_CASE("codes that the codec lacks sound like silence") {
  TwoLevelModels fixture;
  // The model has more codes than the codec's 1000, and random weights choose some of them.
  const auto model = fixture.make(
      kMoshi, std::string(kMelCodec).replace(std::string(kMelCodec).find("1000"), 4, "4000"));
  fit_codec(*model);
  const at::Tensor audio = at::randn({1, 16000}, generator_of(5)) * 0.1;
  const Generation answer =
      speech_of(*model).generate(audio, at::tensor({16000}, at::kLong), /*decode_audio=*/true);
  REQUIRE(answer.tokens_audio_BTK.ge(1000).any().item<bool>());
  CHECK(answer.audio_BS.size(1) == answer.tokens_audio_BTK.size(1) * 1280);
}
