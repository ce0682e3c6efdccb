// The attention with which the text head repeats what the user said.

#include "plugins/models/duplex_s2s/copy_attention.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <doctest/doctest.h>

#include "s2s/kinds/backbone.h"
#include "s2s/nn/block.h"

// Shape letters: B batch, T frames, H hidden.

using namespace s2s;
using s2s::duplex_s2s::CopyAttention;
using s2s::duplex_s2s::HeardWords;

namespace {

constexpr int64_t kHidden = 6;

struct Fixture {
  at::NoGradGuard no_grad;
  CopyAttention copy{kHidden, 4};
  at::Tensor hidden_BTH, words_BTH, mass_BT;

  Fixture() {
    copy.materialize(at::kCPU, at::kFloat, 7);
    for (const NamedTensor& p : copy.named_parameters()) {
      if (p.name == "recency") p.tensor->fill_(0.1);
    }
    at::manual_seed(3);
    hidden_BTH = at::randn({2, 9, kHidden});
    words_BTH = at::randn({2, 9, kHidden});
    mass_BT = at::rand({2, 9});
  }
  at::Tensor whole() { return copy.add_words(hidden_BTH, {words_BTH, mass_BT}); }
};

}  // namespace

TEST_CASE("a frame sees the words up to its own, not later ones") {
  Fixture f;
  const at::Tensor before = f.whole();
  f.words_BTH.slice(1, 5).add_(1);
  const at::Tensor after = f.whole();
  CHECK(after.slice(1, 0, 5).equal(before.slice(1, 0, 5)));
  CHECK_FALSE(after.select(1, 5).equal(before.select(1, 5)));
}

TEST_CASE("in bfloat16 no frame sees a later one, after the 256th neither") {
  Fixture f;
  f.copy.to(at::kCPU, at::kBFloat16);
  const auto options = at::TensorOptions().dtype(at::kBFloat16);
  f.hidden_BTH = at::randn({1, 400, kHidden}).to(options);
  f.words_BTH = at::randn({1, 400, kHidden}).to(options);
  f.mass_BT = at::rand({1, 400});
  const at::Tensor before = f.whole();
  for (const int64_t later : {201, 301, 399}) {
    const at::Tensor kept = f.words_BTH.clone();
    f.words_BTH.slice(1, later).add_(8);
    CHECK(f.whole().slice(1, 0, later).equal(before.slice(1, 0, later)));
    f.words_BTH = kept;
  }
}

TEST_CASE("words that were not heard add nothing") {
  Fixture f;
  f.mass_BT.zero_();
  f.words_BTH.zero_();
  CHECK(f.whole().equal(f.hidden_BTH));
}

TEST_CASE("frame by frame with a state equals the whole") {
  Fixture f;
  const at::Tensor whole = f.whole();
  SequenceState state(1);
  const HeardWords heard{f.words_BTH, f.mass_BT};
  for (int64_t t = 0; t < 9; ++t) {
    const at::Tensor one =
        f.copy.add_words(f.hidden_BTH.narrow(1, t, 1), heard.narrow(t, 1), &state);
    CHECK(at::allclose(one.squeeze(1), whole.select(1, t), 1e-5, 1e-6));
  }
}

TEST_CASE("with recency, the same word counts less the longer ago it was heard") {
  Fixture f;
  f.hidden_BTH.zero_();
  f.words_BTH.zero_();
  f.mass_BT.zero_();
  f.words_BTH.select(1, 2).fill_(1);
  f.mass_BT.select(1, 2).fill_(1);
  const at::Tensor whole = f.whole();
  const double soon = whole[0][2][0].item<double>(), late = whole[0][8][0].item<double>();
  CHECK(soon > late);
  CHECK(late > 0);
}
