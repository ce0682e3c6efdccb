// CSM speaks texts after turns that were spoken.

#include <doctest/doctest.h>

#include "plugins/two_level/made_model.h"
#include "s2s/kinds/speaks_turns.h"

using namespace s2s;
using namespace s2s::test;

namespace {

/// With 23 codes that the codec does not have.
constexpr const char* kSpeakingCodec = R"({"codec": {"name": "mel_fsq", "sample_rate": 16000,
    "num_groups": 3, "decoder_iterations": 2}, "vocab_size": 1023)";

constexpr int64_t kFrames = 6, kSamplesPerFrame = 1280;

struct SpeakingCsm {
  TwoLevelModels fixture;
  std::unique_ptr<Model> model;

  explicit SpeakingCsm(int64_t end = 1022, const std::string& more = "")
      : model(fixture.make(kCsm, kSpeakingCodec + (R"(, "codebook_eos_token_id": )" +
                                                   std::to_string(end) + more + "}"))) {
    fit_codec(*model);
  }
  std::vector<SpokenAnswer> speak(const std::vector<std::vector<SpokenTurn>>& conversations,
                                  const SamplingOptions& sampling = {}) {
    SpeechOptions options;
    options.max_frames = kFrames;
    options.sampling = sampling;
    return require_capability<SpeaksTurns>(*model, "csm", "speak").speak(conversations, options);
  }
  at::Tensor weight(const std::string& name) {
    for (const NamedTensor& parameter : model->named_parameters()) {
      if (parameter.name == name) return parameter.tensor->detach();
    }
    return {};
  }
  at::Tensor codes(const SpokenTurn& turn) { return speak({{turn}})[0].codes_TK; }
};

std::vector<SpokenTurn> after_audio(const std::string& text) {
  return {{0, "what is it", at::randn({3000}, generator_of(4)) * 0.1}, {1, text, {}}};
}

}  // namespace

TEST_CASE("CSM speaks each of several conversations as alone, of different lengths") {
  SpeakingCsm csm;
  const std::vector<std::vector<SpokenTurn>> conversations = {
      {{0, "good morning", {}}}, after_audio("the answer has more words"), {{1, "yes", {}}}};
  SamplingOptions sampling;
  for (const double temperature : {0.0, 1.0}) {
    CAPTURE(temperature);
    sampling.temperature = temperature;
    sampling.top_k = 50;
    const auto together = csm.speak(conversations, sampling);
    REQUIRE(together.size() == 3);
    for (size_t i = 0; i < 3; ++i) {
      CAPTURE(i);
      const SpokenAnswer alone = csm.speak({conversations[i]}, sampling)[0];
      CHECK(at::equal(together[i].codes_TK, alone.codes_TK));
      CHECK(at::allclose(together[i].audio_S, alone.audio_S));
      CHECK(together[i].codes_TK.size(1) == kBooks);
      CHECK(together[i].audio_S.size(0) == together[i].codes_TK.size(0) * kSamplesPerFrame);
      CHECK_FALSE(together[i].is_ended);
    }
  }
  const at::Tensor greedy = csm.codes({0, "good morning", {}});
  const at::Tensor drawn = csm.speak(conversations, sampling)[0].codes_TK;
  CHECK_FALSE(at::equal(drawn, greedy));
  sampling.seed = 2;
  CHECK_FALSE(at::equal(csm.speak(conversations, sampling)[0].codes_TK, drawn));
}

TEST_CASE("what CSM says depends on the turns before, and on the speaker") {
  SpeakingCsm csm;
  const auto last = csm.speak({after_audio("yes")})[0].codes_TK;
  CHECK_FALSE(at::equal(last, csm.codes({1, "yes", {}})));
  CHECK(at::equal(csm.codes({12, "yes", {}}), csm.codes({std::nullopt, "[12]yes", {}})));
  CHECK_FALSE(at::equal(csm.codes({12, "yes", {}}), csm.codes({std::nullopt, "yes", {}})));
  SpeakingCsm other(1022, R"(, "speaker_id": 12)");
  CHECK(at::equal(other.codes({std::nullopt, "yes", {}}), csm.codes({12, "yes", {}})));
  CHECK(at::equal(other.codes({std::nullopt, "[3]yes", {}}), csm.codes({3, "yes", {}})));
  CHECK(at::equal(other.codes({std::nullopt, "[a]yes", {}}), csm.codes({12, "[a]yes", {}})));
}

TEST_CASE("a turn of CSM ends with the books before the last one") {
  SpeakingCsm csm(/*end=*/0);
  csm.weight("lm_head.weight").zero_();
  const at::Tensor heads_KCV = csm.weight("depth_decoder.codebooks_head.weight");
  heads_KCV.zero_();  // now every code is 0
  const SpokenAnswer silent = csm.speak({{{0, "good morning", {}}}})[0];
  CHECK(silent.is_ended);
  CHECK(silent.codes_TK.size(0) == 0);
  CHECK(silent.audio_S.size(0) == 0);
  // As in transformers, the last book has no say in it, and then the frame is spoken.
  const at::Tensor last_C = heads_KCV[kBooks - 2].select(1, 5);
  last_C.fill_(1);
  heads_KCV[kBooks - 2].select(1, 6).fill_(-1);  // one of both is above 0
  const SpokenAnswer spoken = csm.speak({{{0, "good morning", {}}}})[0];
  CHECK(spoken.is_ended);
  CHECK(spoken.codes_TK.size(0) == 1);
  CHECK(spoken.audio_S.size(0) == kSamplesPerFrame);
}

TEST_CASE("codes of CSM that the codec lacks sound like silence") {
  SpeakingCsm csm;
  SamplingOptions hot;
  hot.temperature = 100;  // all codes are as likely
  SpokenAnswer answer;
  for (hot.seed = 0; !answer.codes_TK.defined() || answer.codes_TK.lt(1000).all().item<bool>();
       ++hot.seed) {
    REQUIRE(hot.seed < 50);
    answer = csm.speak({{{0, "good morning", {}}}}, hot)[0];
  }
  CHECK(answer.audio_S.size(0) == answer.codes_TK.size(0) * kSamplesPerFrame);
}

TEST_CASE("ranks of a sharded CSM run the passes of the one that speaks longest") {
  SpeakingCsm csm;
  auto& speaks = require_capability<SpeaksTurns>(*csm.model, "csm", "speak");
  SpeechOptions options;
  options.max_frames = 3;
  const at::Tensor alone = csm.codes({0, "yes", {}});
  // Another rank has two more texts, and speaks two frames more.
  int64_t passes = 0;
  options.largest = [&passes](int64_t own) {
    ++passes;
    if (passes == 1) return own + 2;
    return passes <= 6 ? int64_t{1} : int64_t{0};
  };
  const SpokenAnswer answer = speaks.speak({{{0, "yes", {}}}}, options)[0];
  CHECK(passes == 7);
  CHECK(at::equal(answer.codes_TK, alone.narrow(0, 0, 3)));
}
