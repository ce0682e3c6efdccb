// The codec rvq_vae: our own rules. tests/reference compares results with NeMo.

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include "plugins/built_plugins.h"
#include "s2s/error.h"
#include "s2s/kinds/codec.h"
#include "s2s/nn/weights.h"

// Shape letters: B batch, S samples, K codebooks, T frames.

using namespace s2s;

namespace {

constexpr int64_t kFrame = 40;

struct Host {
  test::BuiltPlugins plugins;
  std::vector<std::string> warnings;

  /// keys: JSON, "key": value pairs that replace the small codec's.
  std::unique_ptr<Codec> make(const std::string& keys = "") {
    Config node = parse_json(R"({"name": "rvq_vae", "sample_rate": 400, "latent_size": 8,
      "n_fft": 12, "hop_length": 4, "base_hidden_size": 4, "channel_mult": [1, 2], "rates": [2, 5],
      "num_blocks": 1, "kernel_size": 3, "codebook_size": 6, "num_quantizers": 3,
      "wav_to_token_ratio": 40})",
                             "codec");
    const Config changed = parse_json("{" + keys + "}", "codec");
    for (const auto& [key, value] : changed.entries()) node[key] = value;
    ModelContext context;
    context.path = "model.codec";
    context.warn = [this](const std::string& message) { warnings.push_back(message); };
    return plugins.create<Codec>(node, context);
  }

  std::string id_of(const std::string& keys) {
    try {
      make(keys);
    } catch (const Error& error) {
      return error.id();
    }
    return "no error";
  }
};

at::Tensor tones(int64_t samples, double pitch) {
  const at::Tensor time_S = at::arange(samples, at::kFloat);
  return (at::sin(time_S * pitch) + at::sin(time_S * pitch * 0.013)) * 4;
}

at::Tensor lengths(std::vector<int64_t> values) { return at::tensor(values, at::kLong); }

at::Tensor some_codes(int64_t frames) {
  return (at::arange(2 * 3 * frames, at::kLong) * 7).remainder(6).view({2, 3, frames});
}

}  // namespace

TEST_CASE("rvq_vae warns that a codec without weights is random") {
  Host host;
  host.make();
  REQUIRE(host.warnings.size() == 1);
  CHECK(host.warnings[0].starts_with("[codec/untrained] model.codec.path"));
}

TEST_CASE("rvq_vae's shape and the rate of the data") {
  Host host;
  const auto codec = host.make();
  CHECK(codec->shape().frame_rate_hz() == 10);
  CHECK(codec->shape().num_codebooks == 3);
  CHECK(codec->shape().codebook_size == 6);
  CHECK(codec->is_fitted());
}

TEST_CASE("rvq_vae refuses sizes that do not fit together") {
  Host host;
  CHECK(host.id_of(R"("rates": [2, 5, 1])") == "codec/stages");
  CHECK(host.id_of(R"("wav_to_token_ratio": 41)") == "codec/frame-samples");
  CHECK(host.id_of(R"("n_fft": 11)") == "codec/window");
  CHECK(host.id_of(R"("n_fft": 4)") == "codec/window");
  CHECK(host.id_of(R"("groups": 3)") == "codec/groups");
  CHECK(host.id_of(R"("groups": 4)") == "no error");
}

TEST_CASE("rvq_vae's codes do not depend on padding or neighbors") {
  Host host;
  const auto codec = host.make();
  const int64_t short_samples = kFrame * 4 - 13;
  at::Tensor batch_BS = at::full({2, kFrame * 9}, 0.3);  // beyond a length nothing is heard
  batch_BS[0] = tones(kFrame * 9, 0.4);
  batch_BS[1].slice(0, 0, short_samples) = tones(short_samples, 0.9);
  const auto [codes_BKT, frames_B] = codec->encode(batch_BS, lengths({kFrame * 9, short_samples}));
  CHECK(codes_BKT.sizes() == at::IntArrayRef({2, 3, 9}));
  CHECK(frames_B.equal(lengths({9, 4})));
  CHECK(codes_BKT[1].slice(1, 4).eq(0).all().item<bool>());
  CHECK(codes_BKT[0].min().item<int64_t>() < codes_BKT[0].max().item<int64_t>());
  const auto alone =
      codec->encode(batch_BS.slice(0, 1).slice(1, 0, short_samples), lengths({short_samples}));
  CHECK(alone.first[0].equal(codes_BKT[1].slice(1, 0, 4)));
}

TEST_CASE("rvq_vae streams what it decodes") {
  Host host;
  const auto codec = host.make();
  const at::Tensor codes_BKT = some_codes(7);
  const at::Tensor whole_BS = codec->decode(codes_BKT);
  CHECK(whole_BS.sizes() == at::IntArrayRef({2, 7 * kFrame}));
  CHECK(whole_BS.std().item<double>() > 1e-3);
  const auto stream = codec->open_stream(2);
  // Twice: a stream begins again after its end.
  for (int64_t turn = 0; turn < 2; ++turn) {
    std::vector<at::Tensor> pieces;
    for (const auto& [begin, end] : {std::pair{0, 1}, {1, 1}, {1, 2}, {2, 6}, {6, 7}}) {
      pieces.push_back(stream->push(codes_BKT.slice(2, begin, end)));
    }
    CHECK(pieces[0].size(1) == kFrame - 4);  // half of the window's overlap is not complete
    pieces.push_back(stream->finish());
    CHECK((at::cat(pieces, 1) - whole_BS).abs().max().item<double>() < 1e-6);
  }
  CHECK(codec->open_stream(2)->finish().size(1) == 0);
  CHECK(codec->decode(codes_BKT.slice(2, 0, 0)).size(1) == 0);
}

TEST_CASE("rvq_vae refuses to decode a control code") {
  Host host;
  const auto codec = host.make();
  const auto id_of = [](const auto& action) {
    try {
      action();
    } catch (const Error& error) {
      return error.id();
    }
    return std::string("no error");
  };
  CHECK(id_of([&] { codec->decode(at::full({1, 3, 2}, 6, at::kLong)); }) == "codec/code-range");
  CHECK(id_of([&] {
          codec->open_stream(1)->push(at::full({1, 3, 2}, -1, at::kLong));
        }) == "codec/code-range");
}

TEST_CASE("rvq_vae's silence is the commonest frame of coded zeros") {
  Host host;
  const auto codec = host.make();
  const at::Tensor silence_K = codec->silence_codes();
  const int64_t samples = 10 * 400;
  const at::Tensor codes_KT = codec->encode(at::zeros({1, samples}), lengths({samples})).first[0];
  CHECK(codes_KT.size(1) == 100);
  CHECK(codes_KT.eq(silence_K.unsqueeze(1)).all(0).sum().item<int64_t>() > 50);
}

TEST_CASE("rvq_vae reads the codec of a DuplexEARTTS checkpoint") {
  Host host;
  const auto codec = host.make();
  const auto other = host.make();
  TensorMap stored;
  for (auto& [name, tensor] : export_weights(*codec, {{{"**", "**"}}, {}})) {
    stored["audio_codec." + name] = tensor + (tensor.is_floating_point() ? 0.25 : 0);
  }
  stored["tts_model.bos_emb"] = at::zeros({3});
  stored["_control_codes"] = at::zeros({3}, at::kLong);
  load_weights(*other, other->checkpoint_names(), stored, "checkpoint");
  const at::Tensor codes_BKT = some_codes(3);
  CHECK_FALSE(other->decode(codes_BKT).equal(codec->decode(codes_BKT)));
  load_weights(*codec, codec->checkpoint_names(), stored, "checkpoint");
  CHECK(other->decode(codes_BKT).equal(codec->decode(codes_BKT)));
}
