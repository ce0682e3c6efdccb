#include "s2s/data/resample.h"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include "audio/polyphase.h"
#include "audio/resampler_bank.h"
#include "audio/sinc_kernel.h"
#include "common/places.h"
#include "weights/safetensors.h"

TEST_CASE("resampling gives torchaudio's samples and its rounding of the length") {
  const at::Tensor wave = at::sin(at::arange(40, at::kFloat) * 0.3);
  const at::Tensor down = s2s::resample(wave, 22050, 16000);
  REQUIRE(down.sizes() == at::IntArrayRef{30});
  const at::Tensor expected_down = at::tensor({0.0234976932f, 0.3968389034f, 0.2449454665f});
  CHECK(at::allclose(down.index_select(0, at::tensor({0, 1, 7})), expected_down, 1e-5, 1e-6));
  const at::Tensor up = s2s::resample(wave.view({1, 1, 40}), 16000, 24000);
  REQUIRE(up.sizes() == at::IntArrayRef{1, 1, 60});
  const at::Tensor expected_up = at::tensor({0.0007961442f, 0.1790561229f, 0.9850881696f});
  CHECK(at::allclose(up.view(60).index_select(0, at::tensor({0, 1, 7})), expected_up, 1e-5, 1e-6));
  const s2s::Resampler resampler(22050, 16000);
  CHECK(resampler.num_samples(65536) == 47555);
  CHECK(resampler.num_samples(1000003) == 725626);
}

TEST_CASE("resampling to the same rate changes nothing") {
  const at::Tensor wave = at::randn({2, 100});
  CHECK(s2s::resample(wave, 16000, 16000).is_same(wave));
}

TEST_CASE("resampling equals both of torchaudio's kernels for all pairs of usual rates") {
  const auto file = s2s::SafetensorsFile::open(s2s::test::source_dir() +
                                               "/tests/reference/data/resample.safetensors");
  int checked = 0;
  for (const auto& [name, entry] : file.entries()) {
    const size_t slash = name.find('/'), underline = name.find('_');
    if (name.substr(slash) != "/input") continue;
    CAPTURE(name);
    const std::string rates = name.substr(0, slash);
    const int64_t from = std::stoll(rates.substr(0, underline));
    const int64_t to = std::stoll(rates.substr(underline + 1));
    const at::Tensor input = file.tensor(name);
    for (const bool double_kernel : {false, true}) {
      const at::Tensor expected =
          file.tensor(rates + (double_kernel ? "/transform" : "/functional"));
      const at::Tensor ours = s2s::Resampler(from, to, double_kernel)(input);
      REQUIRE(ours.sizes() == expected.sizes());
      CHECK((ours - expected).abs().max().item<double>() < 1e-6);
      ++checked;
    }
  }
  CHECK(checked == 60);
}

TEST_CASE("the loop of this processor and the one of every processor give the same samples") {
  for (const auto& [from, to] : std::vector<std::pair<int64_t, int64_t>>{{16000, 22050},
                                                                         {22050, 16000},
                                                                         {48000, 16000},
                                                                         {16000, 24000},
                                                                         {17600, 16000},
                                                                         {8000, 48000},
                                                                         {44100, 48000},
                                                                         {16001, 16000}}) {
    CAPTURE(from);
    CAPTURE(to);
    const s2s::data::SincKernel kernel = s2s::data::sinc_kernel(from, to, true);
    const auto make = [&](s2s::data::Polyphase::Loop loop) {
      return s2s::data::Polyphase(kernel.from, kernel.starts,
                                  kernel.weights.const_data_ptr<float>(), kernel.weights.size(1),
                                  loop);
    };
    const auto best = make(s2s::data::Polyphase::Loop::kBest);
    const auto plain = make(s2s::data::Polyphase::Loop::kDotProducts);
    for (const int64_t length : {1, 7, 100, 1000, 30000}) {
      const at::Tensor input = at::rand({length}) - 0.5;
      const int64_t count = s2s::Resampler(from, to, true).num_samples(length);
      const at::Tensor ours = at::full({count + 8}, 7.0F), other = ours.clone();
      best(input.const_data_ptr<float>(), length, ours.data_ptr<float>(), count);
      plain(input.const_data_ptr<float>(), length, other.data_ptr<float>(), count);
      CHECK((ours - other).abs().max().item<double>() < 1e-6);
      CHECK(at::equal(ours.narrow(0, count, 8), at::full({8}, 7.0F)));
    }
  }
}

TEST_CASE("a bank of resamplers keeps the last ones that were used") {
  s2s::data::ResamplerBank bank;
  const at::Tensor wave = at::rand({2, 500}) - 0.5;
  const at::Tensor first = bank(wave, 16000, 8000);
  CHECK(at::equal(first, s2s::Resampler(16000, 8000, true)(wave)));
  for (int64_t rate = 100; rate < 150; ++rate) {
    bank(wave, rate, 99);
    bank(wave, 16000, 8000);
  }
  CHECK(at::equal(bank(wave, 16000, 8000), first));
  CHECK(bank(wave, 16000, 16000).is_same(wave));
}
