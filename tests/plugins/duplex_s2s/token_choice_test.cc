// How the tokens of both channels are chosen from their logits.

#include "plugins/models/duplex_s2s/token_choice.h"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include "s2s/kinds/tokenizer.h"
#include "s2s/nn/token_sampling.h"

using s2s::duplex::TokenChoice;

namespace {

s2s::SpecialIds marks() {
  s2s::SpecialIds ids;
  ids.pad = 0;
  ids.bos = 1;
  ids.eos = 2;
  return ids;
}

}  // namespace

TEST_CASE("without options both channels take the likeliest") {
  TokenChoice choice({}, marks());
  const at::Tensor text = at::randn({2, 9}), codes = at::randn({2, 3, 7});
  CHECK(at::equal(choice.text(text), text.argmax(-1)));
  CHECK(at::equal(choice.codes(codes), codes.argmax(-1)));
}

TEST_CASE("the penalty is for words, not for marks and codes") {
  s2s::SamplingOptions options;
  options.repetition_penalty = 3;
  TokenChoice choice(options, marks());
  const auto favored = [](int64_t id, int64_t second) {
    at::Tensor logits = at::zeros({1, 6});
    logits[0][id] = 2;
    logits[0][second] = 1;
    return logits;
  };
  for (const int64_t mark : {0, 1, 2}) {
    for (int frame = 0; frame < 3; ++frame) {
      CHECK(choice.text(favored(mark, 5)).item<int64_t>() == mark);
    }
  }
  CHECK(choice.text(favored(4, 3)).item<int64_t>() == 4);
  CHECK(choice.text(favored(4, 3)).item<int64_t>() == 3);  // 2 / 3 is less than 1
  const at::Tensor codes = favored(4, 3).unsqueeze(0);
  CHECK(choice.codes(codes).item<int64_t>() == 4);
  CHECK(choice.codes(codes).item<int64_t>() == 4);
}

TEST_CASE("draws follow the seed, and differ from frame to frame and row to row") {
  s2s::SamplingOptions options;
  options.temperature = 1;
  options.seed = 5;
  const at::Tensor text = at::zeros({2, 1000}), codes = at::zeros({2, 3, 1000});
  TokenChoice first(options, marks()), second(options, marks());
  const at::Tensor a = first.text(text), b = first.codes(codes), c = first.text(text);
  CHECK(at::equal(second.text(text), a));
  CHECK(at::equal(second.codes(codes), b));
  CHECK_FALSE(at::equal(c, a));
  CHECK(a[0].item<int64_t>() != a[1].item<int64_t>());
  CHECK(std::get<0>(at::_unique(b)).numel() == 6);
  options.seed = 6;
  CHECK_FALSE(at::equal(TokenChoice(options, marks()).text(text), a));
}
