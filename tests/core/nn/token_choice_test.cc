// How the tokens of both channels are chosen from their logits.

#include "s2s/nn/token_choice.h"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

using s2s::TokenChoice;

namespace {

std::vector<int64_t> marks() { return {0, 1, 2}; }

/// What is chosen is said.
at::Tensor chosen_text(TokenChoice& choice, const at::Tensor& logits) {
  const at::Tensor text = choice.text(logits);
  choice.said(text);
  return text;
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
      CHECK(chosen_text(choice, favored(mark, 5)).item<int64_t>() == mark);
    }
  }
  CHECK(chosen_text(choice, favored(4, 3)).item<int64_t>() == 4);
  CHECK(chosen_text(choice, favored(4, 3)).item<int64_t>() == 3);  // 2 / 3 is less than 1
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

TEST_CASE("slots have options and random numbers of their own, whichever take part in a step") {
  std::vector<s2s::SamplingOptions> options(3);
  options[1].temperature = 1;
  options[1].seed = 5;
  options[2].repetition_penalty = 3;
  TokenChoice slots = TokenChoice::of_slots(3, marks());
  std::vector<TokenChoice> alone;
  for (size_t slot = 0; slot < 3; ++slot) {
    slots.begin(static_cast<int64_t>(slot), options[slot]);
    alone.emplace_back(options[slot], marks());
  }
  for (const std::vector<int64_t>& active :
       {std::vector<int64_t>{1}, {0, 1, 2}, {}, {0, 2}, {2}, {1, 2}, {0}, {}}) {
    const std::vector<int64_t> rows = active.empty() ? std::vector<int64_t>{0, 1, 2} : active;
    const auto count = static_cast<int64_t>(rows.size());
    const at::Tensor text = at::randn({count, 9}), codes = at::randn({count, 3, 7});
    const at::Tensor chosen_B = slots.text(text, active);
    slots.said(chosen_B, active);
    const at::Tensor codes_BK = slots.codes(codes, active);
    for (int64_t b = 0; b < count; ++b) {
      TokenChoice& own = alone[static_cast<size_t>(rows[static_cast<size_t>(b)])];
      CHECK(at::equal(chosen_B.narrow(0, b, 1), chosen_text(own, text.narrow(0, b, 1))));
      CHECK(at::equal(codes_BK.narrow(0, b, 1), own.codes(codes.narrow(0, b, 1))));
    }
  }
  slots.begin(1, options[1]);  // from the seed again
  const at::Tensor text = at::randn({1, 9});
  CHECK(at::equal(slots.text(text, {1}), TokenChoice(options[1], marks()).text(text)));
}
