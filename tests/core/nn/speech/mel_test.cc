#include "s2s/nn/mel.h"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include "common/device.h"
#include "common/places.h"
#include "s2s/error.h"
#include "train/precision.h"
#include "weights/safetensors.h"

using s2s::test::device;
using s2s::test::on_device;

namespace {

double largest_level_difference(const at::Tensor& a, const at::Tensor& b) {
  return (a - b).abs().max().item<double>();
}

s2s::MelOptions streaming_mel_options() {
  s2s::MelOptions options;
  options.window_size = 0.025;
  options.normalize = "NA";
  options.features = 40;
  options.pad_to = 0;
  return options;
}

struct FrontEnd {
  explicit FrontEnd(const s2s::MelOptions& options) : block(options) {
    block.materialize(device(), at::kFloat, 0);
  }
  s2s::MelFrontEnd block;
};

std::string id_of(const s2s::MelOptions& options) {
  try {
    options.check("model.encoder.preprocessor");
  } catch (const s2s::Error& error) {
    CHECK(error.message().find("model.encoder.preprocessor.") != std::string::npos);
    return error.id();
  }
  return "none";
}

}  // namespace

TEST_CASE("Whisper's features equal those of transformers") {
  const auto file = s2s::SafetensorsFile::open(s2s::test::source_dir() +
                                               "/tests/reference/data/whisper_mel.safetensors");
  const at::Tensor audio_BS = file.tensor("input/audio").to(device());
  const at::Tensor window = s2s::stft_window("hann", 400, /*periodic=*/true).to(device());
  for (const int64_t num_mels : {80, 128}) {
    const at::Tensor bank = s2s::mel_filterbank({16000, 400, num_mels}).to(device());
    const at::Tensor ours = s2s::whisper_log_mel(audio_BS, window, bank).cpu();
    const at::Tensor expected = file.tensor("output/" + std::to_string(num_mels));
    REQUIRE(ours.sizes() == expected.sizes());
    CHECK(largest_level_difference(ours, expected) < 1e-5);
  }
}

TEST_CASE("mel filter bank holds librosa's numbers") {
  // librosa.filters.mel(sr=16000, n_fft=512, n_mels=80), librosa 0.11.
  const at::Tensor bank = s2s::mel_filterbank({16000, 512, 80});
  CHECK(bank.sizes() == at::IntArrayRef{80, 257});
  CHECK(bank[0][1].item<float>() == 2.253456e-02f);
  CHECK(bank[10][12].item<float>() == 1.8805702e-03f);
  CHECK(bank[79][250].item<float>() == 2.103558e-03f);
  CHECK(bank.to(at::kDouble).sum().item<double>() ==
        doctest::Approx(2.55826078139944).epsilon(1e-12));
  // librosa.filters.mel(sr=22050, n_fft=1024, n_mels=64, fmin=50, fmax=8000, norm=None).
  const at::Tensor other = s2s::mel_filterbank({22050, 1024, 64, 50, 8000, false});
  CHECK(other[30][74].item<float>() == 7.1127516e-01f);
  CHECK(other.to(at::kDouble).sum().item<double>() ==
        doctest::Approx(359.59099817392416).epsilon(1e-12));
}

TEST_CASE("pre-emphasis rounds the product first, as NeMo's does") {
  s2s::MelOptions options = streaming_mel_options();
  const FrontEnd emphasizing(options);
  options.preemph.reset();
  const FrontEnd plain(options);
  at::manual_seed(5);
  const at::Tensor audio_BS = at::randn({2, 4000}, device());
  const at::Tensor lengths_B = at::full({2}, 4000, at::kLong).to(device());
  const at::Tensor product = audio_BS.slice(1, 0, -1) * 0.97;
  const at::Tensor emphasized_BS =
      at::cat({audio_BS.slice(1, 0, 1), audio_BS.slice(1, 1) - product}, 1);
  const at::Tensor expected_BTF = plain.block.mel_power(emphasized_BS, lengths_B);
  CHECK(emphasizing.block.mel_power(audio_BS, lengths_B).equal(expected_BTF));
  const auto live = emphasizing.block.open_stream(2), live_plain = plain.block.open_stream(2);
  for (const int64_t begin : {0, 1500}) {
    const int64_t end = begin == 0 ? 1500 : 4000;
    CHECK(live->push(audio_BS.slice(1, begin, end))
              .equal(live_plain->push(emphasized_BS.slice(1, begin, end))));
  }
}

TEST_CASE("features do not depend on the precision of the parameters") {
  s2s::MelFrontEnd rounded(streaming_mel_options());
  rounded.materialize(device(), at::kBFloat16, 0);
  const FrontEnd exact(streaming_mel_options());
  at::manual_seed(4);
  const at::Tensor audio_BS = at::randn({2, 4000}, device());
  const at::Tensor lengths_B = at::tensor({4000, 2500}, at::kLong).to(device());
  CHECK(rounded.mel_power(audio_BS, lengths_B).equal(exact.block.mel_power(audio_BS, lengths_B)));
  rounded.to(device(), at::kHalf);
  CHECK(rounded.mel_power(audio_BS, lengths_B).equal(exact.block.mel_power(audio_BS, lengths_B)));
}

TEST_CASE("spectrogram of a sine peaks at its frequency and has a column more than whole hops") {
  const at::Tensor time = at::arange(1600, on_device(at::kFloat)) / 16000;
  const at::Tensor sine = at::sin(time * (2 * M_PI * 1000)).unsqueeze(0);
  const auto window = s2s::stft_window("hann", 400, false).to(device());
  const at::Tensor power = s2s::power_spectrogram(sine, window, 512, 160);
  CHECK(power.sizes() == at::IntArrayRef{1, 11, 257});
  CHECK(power[0][5].argmax().item<int64_t>() == 32);
  const at::Tensor bank = s2s::mel_filterbank({16000, 512, 40}).to(device());
  const at::Tensor mel = s2s::log_mel(sine, window, bank, 160, 1e-6);
  CHECK(largest_level_difference(mel, at::log(at::matmul(power, bank.t()) + 1e-6)) < 1e-5);
}

TEST_CASE("features are normalized over valid frames, zero beyond them and padded") {
  s2s::MelOptions options = streaming_mel_options();
  options.normalize = "per_feature";
  options.pad_to = 16;
  FrontEnd front(options);
  at::manual_seed(3);
  const at::Tensor audio = at::randn({2, 5000}, device());
  const at::Tensor lengths = at::tensor({5000, 3333}, on_device(at::kLong));
  const at::Tensor frames = front.block.frames(lengths);
  CHECK(at::equal(frames, at::tensor({31, 20}, on_device(at::kLong))));
  const at::Tensor x = front.block.forward(audio, lengths);
  CHECK(x.sizes() == at::IntArrayRef{2, 32, 40});
  CHECK(front.block.width(5000) == 32);
  CHECK(front.block.width(5280) == 48);
  for (int64_t row = 0; row < 2; ++row) {
    const int64_t valid = frames[row].item<int64_t>();
    const at::Tensor inside = x[row].narrow(0, 0, valid);
    CHECK(inside.mean(0).abs().max().item<double>() < 1e-5);
    CHECK(largest_level_difference(inside.std(0), at::ones({40}, device())) < 1e-4);
    CHECK(x[row].narrow(0, valid, 32 - valid).abs().max().item<double>() == 0);
  }
}

TEST_CASE("mixed precision leaves the features alone") {
  FrontEnd front_end(streaming_mel_options());
  at::manual_seed(3);
  const at::Tensor audio = at::randn({1, 8000}, device());
  const at::Tensor lengths = at::full({1}, 8000, on_device(at::kLong));
  const auto features = [&] {
    return front_end.block.features(front_end.block.mel_power(audio, lengths),
                                    front_end.block.frames(lengths));
  };
  const at::Tensor expected = features();
  const s2s::AutocastScope autocast({at::kFloat, /*autocast=*/at::kBFloat16}, device().type());
  CHECK(at::equal(features(), expected));
}

TEST_CASE("what is beyond a row's length does not matter") {
  FrontEnd front(streaming_mel_options());
  at::manual_seed(4);
  at::Tensor audio = at::randn({1, 4000}, device());
  const at::Tensor lengths = at::tensor({2777}, on_device(at::kLong));
  const at::Tensor before = front.block.forward(audio, lengths);
  audio.narrow(1, 2777, 1223).fill_(100);
  CHECK(at::equal(before, front.block.forward(audio, lengths)));
}

TEST_CASE("mel of live audio equals the offline one whatever the pieces") {
  FrontEnd front(streaming_mel_options());
  at::manual_seed(5);
  for (const int64_t samples : {0, 1, 159, 160, 161, 1333, 8000, 8079}) {
    const at::Tensor audio = at::randn({2, samples}, device());
    const at::Tensor lengths = at::full({2}, samples, on_device(at::kLong));
    const int64_t frames = front.block.frames(samples);
    const at::Tensor offline = front.block.forward(audio, lengths).narrow(1, 0, frames);
    auto stream = front.block.open_stream(2);
    std::vector<at::Tensor> pieces;
    for (int64_t begin = 0; begin < samples;) {
      const int64_t size =
          std::min<int64_t>(samples - begin, at::randint(700, {1}).item<int64_t>());
      pieces.push_back(stream->push(audio.narrow(1, begin, size)));
      begin += size;
    }
    pieces.push_back(stream->finish());
    const at::Tensor live = at::cat(pieces, 1);
    REQUIRE(live.sizes() == offline.sizes());
    if (frames > 0) CHECK(largest_level_difference(live, offline) < 1e-5);
  }
}

TEST_CASE("live audio hands out a frame as soon as its window is full") {
  FrontEnd front(streaming_mel_options());
  auto stream = front.block.open_stream(1);
  CHECK(stream->push(at::randn({1, 199}, device())).size(1) == 0);
  CHECK(stream->push(at::randn({1, 1}, device())).size(1) == 1);
  CHECK(stream->push(at::randn({1, 160}, device())).size(1) == 1);
}

TEST_CASE("normalization over the utterance cannot run on live audio") {
  s2s::MelOptions options = streaming_mel_options();
  options.normalize = "per_feature";
  FrontEnd front(options);
  try {
    front.block.open_stream(1);
    FAIL("expected an error");
  } catch (const s2s::Error& error) {
    CHECK(error.id() == "encoder/not-streamable");
    CHECK(error.message().find("preprocessor.normalize is per_feature") != std::string::npos);
  }
}

TEST_CASE("mel options that are not implemented or not possible are named") {
  const s2s::MelOptions good = streaming_mel_options();
  CHECK(id_of(good) == "none");
  const auto with = [&](auto change) {
    s2s::MelOptions options = good;
    change(options);
    return id_of(options);
  };
  CHECK(with([](auto& o) { o.frame_splicing = 2; }) == "encoder/unsupported");
  CHECK(with([](auto& o) { o.exact_pad = true; }) == "encoder/unsupported");
  CHECK(with([](auto& o) { o.nb_augmentation_prob = 0.5; }) == "encoder/unsupported");
  CHECK(with([](auto& o) { o.normalize = "fixed_mean"; }) == "encoder/unsupported");
  CHECK(with([](auto& o) { o.mel_norm = "htk"; }) == "encoder/unsupported");
  CHECK(with([](auto& o) { o.window_size = 0; }) == "encoder/value");
  CHECK(with([](auto& o) { o.n_fft = 256; }) == "encoder/value");
  CHECK(with([](auto& o) { o.highfreq = 9000; }) == "encoder/value");
}
