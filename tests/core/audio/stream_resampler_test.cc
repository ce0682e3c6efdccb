#include "audio/stream_resampler.h"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include <utility>
#include <vector>

TEST_CASE("pieces of any length give the samples of the whole recording, bit for bit") {
  at::manual_seed(3);
  using Rates = std::pair<int64_t, int64_t>;
  for (const auto& [from, to] :
       {Rates{8000, 16000}, Rates{48000, 16000}, Rates{44100, 16000}, Rates{22050, 16000},
        Rates{11025, 24000}, Rates{16000, 16000}, Rates{16000, 22050}, Rates{1000, 16000}}) {
    CAPTURE(from);
    CAPTURE(to);
    for (const int64_t length : {1, 37, 4000, 100003}) {
      CAPTURE(length);
      const at::Tensor wave_S = at::randn({length}) / 3;
      const at::Tensor expected_S = s2s::resample(wave_S, from, to);
      for (const int64_t step : {1280, 77, 40000}) {
        s2s::StreamResampler stream(from, to);
        std::vector<at::Tensor> pieces;
        for (int64_t at = 0; at < length; at += step) {
          pieces.push_back(stream.add(wave_S.narrow(0, at, std::min(step, length - at))));
        }
        pieces.push_back(stream.finish());
        CHECK(at::equal(at::cat(pieces), expected_S));
      }
    }
  }
}

TEST_CASE("a sample comes as soon as the input that it depends on is there") {
  s2s::StreamResampler stream(48000, 16000);
  int64_t num_given = 0;
  for (int64_t second = 1; second <= 30; ++second) {
    num_given += stream.add(at::zeros({48000})).size(0);
    CHECK(num_given >= second * 16000 - 16);
    CHECK(num_given < second * 16000);
  }
  CHECK(num_given + stream.finish().size(0) == 30 * 16000);
  CHECK(s2s::StreamResampler(8000, 16000).finish().size(0) == 0);
}
