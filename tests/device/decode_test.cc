// Decoding on the test device: the host waits once a frame, and a graph repeats a frame.

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include "common/capabilities.h"
#include "device/recorded_graph.h"
#include "device/test_device.h"
#include "nn/operators.h"
#include "plugins/duplex_s2s/duplex_fixture.h"
#include "s2s/nn/token_sampling.h"
#include "train/precision.h"

namespace {

using namespace s2s;
using namespace s2s::test;

constexpr int64_t kFrameSamples = 1280;

/// A model with a codec that is ready, once on the CPU and once on the device.
struct Twins {
  explicit Twins(const std::string& keys = "") {
    for (auto* model : {&here, &there}) {
      *model = fixture.make(std::string(kCodec) + (keys.empty() ? "" : ", ") + keys);
      int given = 0;
      const Batch clip = make_batch({30}, 9);
      codec_of(**model).fit([&] { return given++ == 0 ? clip.source_audio_BS[0] : at::Tensor(); });
    }
    there->to(test_device(), at::kFloat);
  }
  DuplexFixture fixture;
  std::unique_ptr<Model> here, there;
};

at::Tensor speech(int64_t num_frames) { return make_batch({num_frames}, 7).source_audio_BS; }

Generation generated(Model& model, const at::Tensor& audio_1S, at::Device device) {
  const at::Tensor length = at::tensor({audio_1S.size(1)}, at::kLong);
  return speech_of(model).generate(audio_1S.to(device), length.to(device), /*decode_audio=*/false);
}

struct Said {
  std::vector<int64_t> text;
  at::Tensor codes_TK;
};

/// Feeds frame after frame. `waits`: of each push.
Said streamed(Model& model, const at::Tensor& audio_1S, at::Device device,
              std::vector<int64_t>* waits = nullptr, const SamplingOptions& sampling = {}) {
  const at::Tensor audio_S = audio_1S[0].to(device);
  const auto session = speech_of(model).open_session(sampling);
  Said said;
  std::vector<at::Tensor> codes;
  const auto take = [&](const DuplexSession::Output& out) {
    said.text.insert(said.text.end(), out.text_tokens.begin(), out.text_tokens.end());
    if (out.codes_TK.size(0) > 0) codes.push_back(out.codes_TK);
  };
  for (int64_t s = 0; s + kFrameSamples <= audio_S.size(0); s += kFrameSamples) {
    const int64_t before = waits != nullptr ? host_waits() : 0;
    take(session->push(audio_S.narrow(0, s, kFrameSamples)));
    if (waits != nullptr) waits->push_back(host_waits() - before);
  }
  take(session->finish());
  said.codes_TK = at::cat(codes);
  return said;
}

void check_same(const Generation& a, const Generation& b) {
  CHECK(a.tokens_text_BT.cpu().equal(b.tokens_text_BT.cpu()));
  CHECK(a.tokens_audio_BTK.cpu().equal(b.tokens_audio_BTK.cpu()));
}

}  // namespace

TEST_CASE("the device decodes what the CPU decodes, and the host waits for no frame") {
  Twins twins;
  const auto waits_of = [&](int64_t num_frames) {
    const at::Tensor audio_1S = speech(num_frames);
    const int64_t before = host_waits();
    const Generation there = generated(*twins.there, audio_1S, test_device());
    const int64_t waits = host_waits() - before;
    check_same(there, generated(*twins.here, audio_1S, at::kCPU));
    return waits;
  };
  waits_of(10);  // tables are made once
  const int64_t of_few = waits_of(20);
  CHECK(waits_of(80) == of_few);
}

TEST_CASE("in a session the host waits once a frame, for its tokens") {
  Twins twins;
  const at::Tensor audio_1S = speech(70);
  std::vector<int64_t> waits;
  const Said there = streamed(*twins.there, audio_1S, test_device(), &waits);
  const Said here = streamed(*twins.here, audio_1S, at::kCPU);
  CHECK(there.text == here.text);
  CHECK(there.codes_TK.equal(here.codes_TK));
  CHECK(std::all_of(waits.begin() + 10, waits.end(), [](int64_t count) { return count <= 1; }));
  CHECK(waits.back() == 1);
}

TEST_CASE("a graph repeats frames, and is recorded again when memory was enlarged") {
  Twins twins;
  const at::Tensor audio_1S = speech(150);
  const Generation plain = generated(*twins.there, audio_1S, test_device());
  const Said plain_said = streamed(*twins.there, audio_1S, test_device());
  GraphKernels kernels;
  offer_graphs(at::kPrivateUse1, kernels);
  check_same(generated(*twins.there, audio_1S, test_device()), plain);
  CHECK(kernels.graphs == 1);
  CHECK(kernels.replays == plain.tokens_text_BT.size(1) - 1);
  kernels.graphs = 0;
  std::vector<int64_t> waits;
  const Said said = streamed(*twins.there, audio_1S, test_device(), &waits);
  CHECK(said.text == plain_said.text);
  CHECK(said.codes_TK.equal(plain_said.codes_TK));
  CHECK(kernels.graphs == 3);  // 64, 128 and 256 frames
  CHECK(waits.back() == 1);
}

TEST_CASE("under autocast an answer's frames repeat as a graph, and a live session's do not") {
  Twins twins;
  const at::Tensor audio_1S = speech(40);
  const auto answered = [&] {
    const AutocastScope autocast(parse_precision("bf16-mixed", "test"), test_device().type());
    return generated(*twins.there, audio_1S, test_device());
  };
  const Generation plain = answered();
  GraphKernels kernels;
  offer_graphs(at::kPrivateUse1, kernels);
  check_same(answered(), plain);
  CHECK(kernels.replays == plain.tokens_text_BT.size(1) - 1);
  kernels.graphs = 0;
  const AutocastScope autocast(parse_precision("bf16-mixed", "test"), test_device().type());
  streamed(*twins.there, audio_1S, test_device());
  CHECK(kernels.graphs == 0);
}

TEST_CASE("draws come from the device, with a graph and without") {
  Twins twins;
  SamplingOptions sampling;
  sampling.temperature = 1;
  sampling.top_k = 20;
  sampling.seed = 4;
  speech_of(*twins.there).choose_tokens_by(sampling);
  const at::Tensor audio_1S = speech(40);
  const Generation plain = generated(*twins.there, audio_1S, test_device());
  check_same(generated(*twins.there, audio_1S, test_device()), plain);
  const int64_t before = host_waits();
  generated(*twins.there, audio_1S, test_device());
  const int64_t waits = host_waits() - before;
  GraphKernels kernels;
  offer_graphs(at::kPrivateUse1, kernels);
  check_same(generated(*twins.there, audio_1S, test_device()), plain);
  CHECK(kernels.replays > 30);
  const int64_t once_more = host_waits();
  generated(*twins.there, speech(20), test_device());
  CHECK(host_waits() - once_more == waits);
}

TEST_CASE("after a recording that the device refused, frames are what they would have been") {
  Twins twins;
  const at::Tensor audio_1S = speech(70);  // a session enlarges its memory after 64
  for (const double temperature : {0.0, 1.0}) {
    SamplingOptions sampling;
    sampling.temperature = temperature;
    sampling.seed = 4;
    speech_of(*twins.there).choose_tokens_by(sampling);
    const Generation plain = generated(*twins.there, audio_1S, test_device());
    const Said plain_said = streamed(*twins.there, audio_1S, test_device(), nullptr, sampling);
    GraphKernels kernels;
    kernels.refuses = true;
    offer_graphs(at::kPrivateUse1, kernels);
    check_same(generated(*twins.there, audio_1S, test_device()), plain);
    CHECK(kernels.refusals == 1);  // it is not tried again
    const Said said = streamed(*twins.there, audio_1S, test_device(), nullptr, sampling);
    CHECK(said.text == plain_said.text);
    CHECK(said.codes_TK.equal(plain_said.codes_TK));
    CHECK(kernels.refusals == 2);
  }
}

TEST_CASE("frames that do not repeat are decoded without a graph") {
  GraphKernels kernels;
  offer_graphs(at::kPrivateUse1, kernels);
  const at::Tensor audio_1S = speech(20);
  {
    Twins twins(kExtras);  // attends to more words from frame to frame
    check_same(generated(*twins.there, audio_1S, test_device()),
               generated(*twins.here, audio_1S, at::kCPU));
  }
  Twins twins;
  SamplingOptions sampling;
  sampling.repetition_penalty = 1.3;
  sampling.no_repeat_ngram_size = 3;
  for (auto* model : {&twins.here, &twins.there}) speech_of(**model).choose_tokens_by(sampling);
  check_same(generated(*twins.there, speech(80), test_device()),
             generated(*twins.here, speech(80), at::kCPU));
  CHECK(kernels.graphs == 0);
}
