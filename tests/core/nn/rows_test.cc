#include "s2s/nn/rows.h"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include <vector>

namespace {

at::Tensor ids(const std::vector<int64_t>& values) { return at::tensor(values, at::kLong); }

TEST_CASE("a length mask holds exactly the positions before each length") {
  const at::Tensor expected = ids({0, 0, 0, 1, 1, 0, 1, 1, 1}).view({3, 3}).to(at::kBool);
  CHECK(s2s::length_mask(ids({0, 2, 5}), 3).equal(expected));
}

TEST_CASE("rows are zero beyond their lengths, whatever the dim of the positions") {
  const at::Tensor x_BKT = at::ones({2, 2, 3}, at::kLong);
  const at::Tensor y_BKT = s2s::zero_beyond(x_BKT, ids({1, 3}), 2);
  CHECK(y_BKT[0].equal(ids({1, 0, 0, 1, 0, 0}).view({2, 3})));
  CHECK(y_BKT[1].equal(x_BKT[1]));
  CHECK(s2s::zero_beyond(x_BKT.transpose(1, 2), ids({1, 3}), 1).equal(y_BKT.transpose(1, 2)));
}

TEST_CASE("audio ends with a whole frame, silent beyond each row's length") {
  const auto [audio_BS, frames_B] = s2s::whole_frames(at::ones({3, 5}), ids({5, 4, 0}), 4);
  CHECK(audio_BS.sizes() == at::IntArrayRef({3, 8}));
  CHECK(audio_BS.sum(1).equal(at::tensor({5.0f, 4.0f, 0.0f})));
  CHECK(audio_BS[0].slice(0, 5).eq(0).all().item<bool>());
  CHECK(frames_B.equal(ids({2, 1, 0})));
  CHECK(s2s::whole_frames(at::ones({1, 8}), ids({8}), 4).audio_BS.size(1) == 8);
}

TEST_CASE("integers come to the host in order") {
  const at::Tensor x = at::arange(6, at::kInt).view({2, 3}).t();
  CHECK(s2s::to_vector(x) == std::vector<int64_t>{0, 3, 1, 4, 2, 5});
  CHECK(s2s::to_vector(at::empty({0}, at::kLong)).empty());
}

TEST_CASE("a step takes its rows from what is kept, and puts them back") {
  const at::Tensor kept = ids({10, 11, 12});
  const s2s::StepRows some({2, 0}, kept);
  CHECK(some.of(kept).equal(ids({12, 10})));
  CHECK(some.replaced(kept, ids({7, 8})).equal(ids({8, 11, 7})));
  CHECK(kept.equal(ids({10, 11, 12})));
  CHECK_FALSE(some.of({}).defined());
  CHECK_FALSE(some.replaced({}, {}).defined());
  const s2s::StepRows all({}, kept);
  CHECK(all.of(kept).is_same(kept));
  CHECK(all.replaced(kept, ids({1, 2, 3})).equal(ids({1, 2, 3})));
  CHECK(s2s::StepRows({0}, ids({5})).of(ids({5})).equal(ids({5})));
}

}  // namespace
