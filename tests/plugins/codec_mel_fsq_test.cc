#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include <cmath>

#include "plugin/plugin_host.h"
#include "s2s/data/resample.h"
#include "s2s/error.h"
#include "s2s/kinds/codec.h"

// Shape letters: B batch, S samples, K codebooks, T frames.

using namespace s2s;

namespace {

struct Host {
  PluginHost host{process_search_inputs({})};
  Registries registries;
  Host() { host.install(registries); }
};

std::unique_ptr<Codec> make_codec(const std::string& options = "") {
  static Host host;
  Config node = Config::map();
  node["name"] = Config::scalar("mel_fsq");
  for (size_t at = 0; at < options.size();) {
    const size_t comma = std::min(options.find(',', at), options.size());
    const std::string pair = options.substr(at, comma - at);
    const size_t equals = pair.find('=');
    node[pair.substr(0, equals)] = Config::scalar(pair.substr(equals + 1));
    at = comma + 1;
  }
  ModelContext context;
  context.path = "model.codec";
  return host.registries.create<Codec>(node, context);
}

std::string id_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.id();
  }
  return "no error";
}

/// Something like speech: a harmonic tone that glides and is broken by pauses.
at::Tensor voice(int64_t num_samples, int64_t rate_hz, double pitch_hz) {
  const at::Tensor t_S = at::arange(num_samples, at::kDouble) / static_cast<double>(rate_hz);
  const at::Tensor phase_S = 2 * M_PI * pitch_hz * (t_S + 0.03 * at::sin(5 * t_S));
  at::Tensor sum_S = at::zeros_like(t_S);
  for (int h = 1; h < 20; ++h) sum_S += at::sin(h * phase_S) / h;
  const at::Tensor envelope_S = at::sin(2 * M_PI * 1.5 * t_S).clamp_min(0);
  return (sum_S * envelope_S * 0.1).to(at::kFloat);
}

void fit_to_voices(Codec& codec) {
  const int64_t rate = codec.shape().sample_rate_hz;
  int count = 0;
  codec.fit([&]() -> at::Tensor {
    if (count == 6) return {};
    return voice(rate * 3, rate, 100 + 20 * count++);
  });
}

at::Tensor lengths(std::vector<int64_t> values) { return at::tensor(values, at::kLong); }

double log_spectrum_distance(const at::Tensor& a_S, const at::Tensor& b_S) {
  const auto spectrum = [](const at::Tensor& x_S) {
    const at::Tensor window = at::hann_window(1024);
    const at::Tensor spectrum_NT = at::stft(x_S, 1024, 256, 1024, window, /*normalized=*/false,
                                            /*onesided=*/true, /*return_complex=*/true);
    return spectrum_NT.abs().clamp_min(1e-2).log10() * 20;
  };
  return (spectrum(a_S) - spectrum(b_S)).abs().mean().item<double>();
}

}  // namespace

TEST_CASE("mel_fsq has 12.5 frames a second at every rate") {
  for (const int64_t rate : {8000, 16000, 22050, 24000, 44100, 48000}) {
    const auto codec = make_codec("sample_rate=" + std::to_string(rate));
    CHECK(codec->shape().frame_rate_hz() == 12.5);
    CHECK(codec->shape().num_codebooks == 8);
    CHECK(codec->shape().codebook_size == 1000);
  }
}

TEST_CASE("mel_fsq says when statistics are missing, and what can be done") {
  const auto codec = make_codec();
  CHECK_FALSE(codec->is_fitted());
  CHECK(id_of([&] { codec->encode(at::zeros({1, 1280}), lengths({1280})); }) == "codec/not-fitted");
  CHECK(id_of([&] { codec->open_stream(1); }) == "codec/not-fitted");
  CHECK(id_of([&] { codec->fit([] { return at::Tensor(); }); }) == "codec/no-audio");
  int count = 0;
  const auto silence = [&] { return count++ == 0 ? at::zeros({16000}) : at::Tensor(); };
  CHECK(id_of([&] { codec->fit(silence); }) == "codec/no-audio");
}

TEST_CASE("mel_fsq refuses options that do not fit together") {
  CHECK(id_of([] { make_codec("sample_rate=16001"); }) == "codec/sample-rate");
  CHECK(id_of([] { make_codec("num_mels=16,num_groups=32"); }) == "codec/too-many-numbers");
  Config node = Config::map();
  const auto make = [&](std::vector<Config> levels) {
    node["name"] = Config::scalar("mel_fsq");
    node["levels"] = Config::list(std::move(levels));
    Host host;
    ModelContext context;
    context.path = "model.codec";
    return host.registries.create<Codec>(node, context);
  };
  CHECK(id_of([&] { make({Config::scalar("1000"), Config::scalar("1000")}); }) == "codec/level");
  CHECK(id_of([&] { make({}); }) == "codec/level");
  CHECK(make({Config::scalar("8"), Config::scalar("7")})->shape().codebook_size == 56);
}

TEST_CASE("mel_fsq's codes do not depend on padding, neighbors or a frame's position") {
  const auto codec = make_codec();
  fit_to_voices(*codec);
  const at::Tensor long_S = voice(1280 * 20, 16000, 130);
  const at::Tensor short_S = voice(1280 * 9 - 300, 16000, 170);
  at::Tensor batch_BS = at::full({2, 1280 * 20}, 0.3);  // what lies beyond a length is not heard
  batch_BS[0] = long_S;
  batch_BS[1].slice(0, 0, short_S.size(0)) = short_S;
  const auto [codes_BKT, frames_B] = codec->encode(batch_BS, lengths({1280 * 20, short_S.size(0)}));
  CHECK(codes_BKT.sizes() == at::IntArrayRef({2, 8, 20}));
  CHECK(frames_B.equal(lengths({20, 9})));
  CHECK(codes_BKT[1].slice(1, 9).eq(0).all().item<bool>());
  const auto alone = codec->encode(short_S.unsqueeze(0), lengths({short_S.size(0)}));
  CHECK(alone.first[0].equal(codes_BKT[1].slice(1, 0, 9)));

  // A phrase with silent edges gives its codes at whatever frame it is put.
  at::Tensor phrase_S = voice(1280 * 4, 16000, 120);
  phrase_S.slice(0, 0, 400).zero_();
  phrase_S.slice(0, 1280 * 4 - 400).zero_();
  const at::Tensor apart_S =
      at::cat({phrase_S, at::zeros({1280 * 3}), phrase_S, phrase_S}).unsqueeze(0);
  const at::Tensor codes_KT = codec->encode(apart_S, lengths({1280 * 15})).first[0];
  CHECK(codes_KT.slice(1, 0, 4).equal(codes_KT.slice(1, 7, 11)));
  CHECK(codes_KT.slice(1, 0, 4).equal(codes_KT.slice(1, 11, 15)));
  CHECK(codes_KT.select(1, 5).equal(codec->silence_codes()));
}

TEST_CASE("mel_fsq streams what it decodes, with at most two frames of delay") {
  const auto codec = make_codec("sample_rate=22050,decoder_iterations=4");
  fit_to_voices(*codec);
  const int64_t frame = codec->shape().samples_per_frame;
  CHECK(frame == 1764);
  const at::Tensor audio_BS =
      at::stack({voice(frame * 12, 22050, 110), voice(frame * 12, 22050, 180)});
  const at::Tensor codes_BKT = codec->encode(audio_BS, lengths({frame * 12, frame * 12})).first;
  const at::Tensor whole_BS = codec->decode(codes_BKT);
  CHECK(whole_BS.sizes() == audio_BS.sizes());
  const auto stream = codec->open_stream(2);
  std::vector<at::Tensor> pieces;
  int64_t samples = 0;
  for (int64_t t = 0; t < 12; ++t) {
    pieces.push_back(stream->push(codes_BKT.slice(2, t, t + 1)));
    samples += pieces.back().size(1);
    CHECK(samples >= (t - 1) * frame);
  }
  pieces.push_back(stream->finish());
  CHECK(at::cat(pieces, 1).equal(whole_BS));
  // A row's sound does not depend on the other rows. How many there are may choose another kernel
  // of the Fourier transform, and a phase where there is no energy is any phase.
  const at::Tensor first_KT = codes_BKT.select(0, 0);
  CHECK(codec->decode(at::stack({first_KT, first_KT})).select(0, 0).equal(whole_BS.select(0, 0)));
  const at::Tensor alone_BS = codec->decode(codes_BKT.slice(0, 1));
  const at::Tensor beside_BS = whole_BS.slice(0, 1);
  const double error = (alone_BS - beside_BS).square().sum().item<double>();
  CHECK(error < 0.01 * beside_BS.square().sum().item<double>());
  CHECK(codec->decode(codes_BKT.slice(2, 0, 0)).size(1) == 0);
}

TEST_CASE("mel_fsq gives back sound like what it was given, and silence as silence") {
  const auto codec = make_codec();
  fit_to_voices(*codec);
  const at::Tensor audio_S = voice(1280 * 30, 16000, 140);
  const at::Tensor codes_BKT = codec->encode(audio_S.unsqueeze(0), lengths({1280 * 30})).first;
  const at::Tensor back_S = codec->decode(codes_BKT)[0];
  CHECK(log_spectrum_distance(back_S, audio_S) < 4);
  CHECK(log_spectrum_distance(voice(1280 * 30, 16000, 230), audio_S) > 5);
  const at::Tensor silence_BKT = codec->silence_codes().view({1, 8, 1}).expand({1, 8, 5});
  CHECK(codec->decode(silence_BKT).abs().max().item<float>() == 0);
}

TEST_CASE("mel_fsq gives back sound at every rate, and streams it") {
  for (const int64_t rate : {8000, 11025 * 2, 24000, 44100}) {
    CAPTURE(rate);
    const auto codec = make_codec("decoder_iterations=8,sample_rate=" + std::to_string(rate));
    fit_to_voices(*codec);
    const int64_t samples = codec->shape().samples_per_frame * 20;
    const at::Tensor audio_S = voice(samples, rate, 140);
    const at::Tensor codes_BKT = codec->encode(audio_S.unsqueeze(0), lengths({samples})).first;
    CHECK(codes_BKT.sizes() == at::IntArrayRef({1, 8, 20}));
    const at::Tensor back_S = codec->decode(codes_BKT)[0];
    CHECK(log_spectrum_distance(back_S, audio_S) <
          log_spectrum_distance(voice(samples, rate, 230), audio_S));
    const auto stream = codec->open_stream(1);
    const at::Tensor streamed_BS = at::cat({stream->push(codes_BKT.slice(2, 0, 7)),
                                            stream->push(codes_BKT.slice(2, 7)), stream->finish()},
                                           1);
    CHECK(streamed_BS[0].equal(back_S));
  }
}

TEST_CASE("mel_fsq keeps its statistics in buffers that a checkpoint stores") {
  const auto codec = make_codec();
  fit_to_voices(*codec);
  const auto other = make_codec();
  other->materialize(at::kCPU, at::kFloat, 1);
  CHECK_FALSE(other->is_fitted());
  const auto from = codec->named_buffers();
  const auto to = other->named_buffers();
  REQUIRE(from.size() == to.size());
  int stored = 0;
  for (size_t i = 0; i < from.size(); ++i) {
    if (!from[i].persistent) continue;
    *to[i].tensor = from[i].tensor->clone();
    ++stored;
  }
  CHECK(stored == 3);
  CHECK(other->is_fitted());
  const at::Tensor audio_BS = voice(12800, 16000, 150).unsqueeze(0);
  CHECK(other->encode(audio_BS, lengths({12800}))
            .first.equal(codec->encode(audio_BS, lengths({12800})).first));
}

TEST_CASE("mel_fsq refuses control tokens and says what replaces them") {
  const auto codec = make_codec();
  fit_to_voices(*codec);
  for (const int64_t code : {1000, -1}) {
    const at::Tensor codes_BKT = at::full({1, 8, 2}, code, at::kLong);
    CHECK(id_of([&] { codec->decode(codes_BKT); }) == "codec/code-range");
  }
}
