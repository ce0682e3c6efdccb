// Which module is the first one whose output is not finite?

#include "run/finite_watch.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <doctest/doctest.h>

#include "s2s/nn/layers.h"

namespace {

using s2s::run::FiniteWatch;

/// Two layers in a block, a norm, and a layer.
class Inner : public s2s::BlockOf<> {
 public:
  Inner() {
    register_block("up", up);
    register_block("down", down);
  }
  s2s::Linear up{4, 8}, down{8, 4};

 protected:
  at::Tensor forward(const at::Tensor& x) override { return x + down(up(x).relu()); }
};

class Model : public s2s::BlockOf<> {
 public:
  Model() {
    register_block("inner", inner);
    register_block("norm", norm);
    register_block("head", head);
    materialize(at::kCPU, at::kFloat, 3);
  }
  Inner inner;
  s2s::RmsNorm norm{4, 1e-6};
  s2s::Linear head{4, 2};

 protected:
  at::Tensor forward(const at::Tensor& x) override { return head(norm(inner(x))); }
};

at::Tensor input() { return at::arange(12, at::kFloat).view({3, 4}).div(10); }

}  // namespace

TEST_CASE("a finite model has no place, and computes the same bits as without a watch") {
  Model model;
  const at::Tensor before = model(input());
  const FiniteWatch watch(model);
  CHECK(at::equal(model(input()), before));
  CHECK_FALSE(watch.first_output());
  CHECK_FALSE(watch.first_gradient());
}

TEST_CASE("the innermost module that gives the first nan is named, with the element") {
  Model model;
  {
    const at::NoGradGuard no_grad;
    model.inner.down.weight[2].fill_(std::nan(""));
  }
  const FiniteWatch watch(model);
  model(input());
  REQUIRE(watch.first_output());
  CHECK(watch.first_output()->module == "inner.down");
  CHECK(watch.first_output()->where == "nan at [0, 2] of [3, 4]");
  CHECK(watch.first_output()->input_is_finite);
}

TEST_CASE("a non-finite input is distinguished") {
  Model model;
  const FiniteWatch watch(model);
  model(input() / 0);
  REQUIRE(watch.first_output());
  CHECK(watch.first_output()->module == "inner.up");
  CHECK_FALSE(watch.first_output()->input_is_finite);
}

TEST_CASE("a gradient that becomes infinite in the backward pass is named") {
  Model model;
  const FiniteWatch watch(model);
  // The loss is 0 and its gradient infinite: the square root of zero.
  (model(input()) * 0).sum().sqrt().backward();
  CHECK_FALSE(watch.first_output());
  REQUIRE(watch.first_gradient());
  CHECK(watch.first_gradient()->module == "head");  // the first on the way back
}

TEST_CASE("hooks that were there before stay at work and come back") {
  class Counter : public s2s::BlockHooks {
   public:
    at::Tensor call(s2s::Block&, const at::Tensor& x, const Forward& forward) override {
      ++count;
      return forward(x);
    }
    int count = 0;
  };
  Model model;
  Counter counter;
  model.head.set_hooks(&counter);
  {
    const FiniteWatch watch(model);
    model(input());
    CHECK(counter.count == 1);
  }
  CHECK(model.head.hooks() == &counter);
  CHECK(model.inner.hooks() == nullptr);
}
