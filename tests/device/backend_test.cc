// The test device itself: memory, operators, random numbers, autocast.
#include <ATen/ATen.h>
#include <ATen/autocast_mode.h>
#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <functional>

#include "device/test_device.h"

namespace {

using s2s::test::host_waits;
using s2s::test::test_device;

at::Tensor on_device(const at::Tensor& tensor) { return tensor.to(test_device()); }

/// The signal that ends a process that runs `body`; 0: none.
int signal_of(const std::function<void()>& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    std::signal(SIGSEGV, SIG_DFL);  // doctest's handler would report
    body();
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

bool is_same(const at::Tensor& device, const at::Tensor& host) {
  return device.device() == test_device() && at::allclose(device.cpu(), host, 1e-6, 1e-6);
}

bool all_poisoned(const at::Tensor& tensor) { return tensor.isnan().all().item<bool>(); }

}  // namespace

TEST_CASE("the test device is LibTorch's accelerator, under its own name") {
  test_device();
  CHECK((at::accelerator::getAccelerator() == at::kPrivateUse1));
  CHECK(at::accelerator::deviceCount() == 1);
  CHECK((at::Device("test_device:0") == test_device()));
  CHECK((s2s::opened_accelerator() == at::kPrivateUse1));
}

TEST_CASE("a host that touches memory of the device ends by a signal") {
  const at::Tensor x = on_device(at::ones({4}));
  CHECK(signal_of([&] { std::printf("%f\n", static_cast<double>(*x.data_ptr<float>())); }) ==
        SIGSEGV);
  CHECK(signal_of([&] { *x.data_ptr<float>() = 1; }) == SIGSEGV);
  CHECK(signal_of([&] { x.add_(1); }) == 0);
}

TEST_CASE("freed memory is poisoned, and is the next that is handed out") {
  const auto options = at::TensorOptions().device(test_device());
  const void* address = nullptr;
  {
    const at::Tensor x = at::ones({100}, options);
    address = x.storage().data();
  }
  const at::Tensor y = at::empty({101}, options);
  CHECK(y.storage().data() == address);
  CHECK(all_poisoned(y));
}

TEST_CASE("memory in use is counted, with its peak") {
  const auto options = at::TensorOptions().device(test_device());
  const auto bytes = [] { return at::accelerator::getDeviceStats(0).allocated_bytes[0]; };
  const int64_t before = bytes().current;
  at::accelerator::resetPeakStats(0);
  { const at::Tensor x = at::empty({1000}, options); }
  CHECK(bytes().current == before);
  CHECK(bytes().peak == before + 4000);
}

TEST_CASE("operators give what the CPU's give") {
  const at::Tensor x = at::randn({4, 6}), y = at::randn({6, 3});
  const at::Tensor dx = on_device(x), dy = on_device(y);
  CHECK(is_same(dx.matmul(dy), x.matmul(y)));
  CHECK(is_same(dx + 1.5, x + 1.5));
  CHECK(is_same(dx * at::scalar_tensor(2.0), x * 2));  // a number may come from the CPU
  CHECK(is_same(at::cat({dx, dx}, 1), at::cat({x, x}, 1)));
  CHECK(is_same(dx.softmax(-1), x.softmax(-1)));
  CHECK(is_same(at::layer_norm(dx, {6}), at::layer_norm(x, {6})));
  CHECK(is_same(std::get<0>(dx.sort(1)), std::get<0>(x.sort(1))));
  CHECK(is_same(at::fft_rfft(dx).abs(), at::fft_rfft(x).abs()));
  CHECK(is_same(dx.index({dx[0].gt(0).expand({4, 6})}), x.index({x[0].gt(0).expand({4, 6})})));
  CHECK(is_same(dx.index({at::tensor({2, 0})}), x.index({at::tensor({2, 0})})));
  CHECK((dx.to(at::kBFloat16).scalar_type() == at::kBFloat16));
  const at::Tensor kernel = at::randn({2, 1, 3, 3});
  const at::Tensor image = x.view({1, 1, 4, 6});
  CHECK(is_same(at::conv2d(on_device(image), on_device(kernel)), at::conv2d(image, kernel)));
  const auto sums = at::_foreach_norm({dx, dy});
  CHECK(is_same(sums[1], y.norm()));
  at::Tensor out = at::empty({0}, dx.options());
  at::add_out(out, dx, dx);
  CHECK(is_same(out, x + x));
}

TEST_CASE("views share memory with what they show") {
  const at::Tensor x = on_device(at::arange(24).to(at::kFloat));
  const void* const memory = x.storage().data();
  const at::Tensor image = x.view({2, 3, 4});
  for (const at::Tensor& view :
       {image, image.transpose(0, 2), image.narrow(1, 1, 2), image[1], image.unfold(2, 2, 1),
        image.permute({2, 0, 1}), image.split(1, 0)[1], image.unsqueeze(0), image.detach(),
        image.as_strided({2}, {3}), image.flatten(), image.expand({2, 3, 4}), image.select(2, 1)}) {
    CHECK(view.storage().data() == memory);
  }
  image[1].narrow(1, 0, 1).zero_();
  CHECK(x[12].item<float>() == 0);
  CHECK(x[13].item<float>() == 13);
}

TEST_CASE("an operator refuses tensors of two devices") {
  const at::Tensor x = on_device(at::ones({3}));
  CHECK_THROWS_AS(x + at::ones({3}), c10::Error);
  CHECK_THROWS_AS(at::cat({at::ones({3}), x}), c10::Error);
  CHECK_THROWS_AS(at::embedding(x.view({3, 1}), at::zeros({2}, at::kLong)), c10::Error);
}

TEST_CASE("gradients are computed on the device") {
  const at::Tensor x = at::randn({5, 4}), w = at::randn({4, 4}).set_requires_grad(true);
  const at::Tensor dw = on_device(w.detach()).set_requires_grad(true);
  const auto loss = [](const at::Tensor& input, const at::Tensor& weight) {
    return at::gelu(input.matmul(weight)).square().mean();
  };
  loss(x, w).backward();
  loss(on_device(x), dw).backward();
  CHECK(is_same(dw.grad(), w.grad()));
}

TEST_CASE("random numbers of the device come from its own generator") {
  const auto options = at::TensorOptions().device(test_device());
  at::manual_seed(7);
  const at::Tensor first = at::randn({8}, options), of_cpu = at::randn({8});
  at::manual_seed(7);
  const at::Tensor dropped = at::dropout(at::ones({64}, options), 0.5, /*train=*/true);
  CHECK(at::equal(at::randn({8}), of_cpu));  // the device has drawn nothing from the CPU's
  at::manual_seed(7);
  CHECK(at::equal(at::randn({8}, options), first));
  CHECK_FALSE(at::allclose(first.cpu(), of_cpu));
  const double kept = dropped.sum().item<double>() / 2;
  CHECK(kept > 16);
  CHECK(kept < 48);
  at::Generator generator = at::globalContext().defaultGenerator(test_device());
  const at::Tensor state = generator.get_state();
  const at::Tensor next = at::rand({3}, options);
  generator.set_state(state);
  CHECK(at::equal(at::rand({3}, options), next));
  at::Generator other = at::globalContext().defaultGenerator(at::kCPU);
  CHECK_THROWS_AS(at::empty({3}, options).normal_(0, 1, other), c10::Error);
}

TEST_CASE("autocast is the device's own") {
  const at::Tensor x = on_device(at::randn({3, 3}));
  at::autocast::set_autocast_enabled(at::kPrivateUse1, true);
  at::autocast::set_autocast_dtype(at::kPrivateUse1, at::kBFloat16);
  CHECK((x.matmul(x).scalar_type() == at::kBFloat16));
  CHECK((x.to(at::kBFloat16).softmax(-1).scalar_type() == at::kFloat));
  CHECK((x.cpu().matmul(x.cpu()).scalar_type() == at::kFloat));
  at::autocast::set_autocast_enabled(at::kPrivateUse1, false);
  at::autocast::clear_cache();
  CHECK((x.matmul(x).scalar_type() == at::kFloat));
}

TEST_CASE("what the host waits for is counted") {
  const at::Tensor x = on_device(at::ones({3}));
  const auto waits = [](const std::function<void()>& body) {
    const int64_t before = host_waits();
    body();
    return host_waits() - before;
  };
  CHECK(waits([&] { x.add(1).sum(); }) == 0);
  CHECK(waits([&] { x.sum().item(); }) == 1);
  CHECK(waits([&] { x.cpu(); }) == 1);
  CHECK(waits([&] { on_device(at::ones({3})); }) == 1);
  CHECK(waits([&] { x.nonzero(); }) == 1);
  CHECK(waits([&] { at::index(x, {x.gt(0)}); }) == 1);
  CHECK(waits([&] { at::ones({3}).to(test_device(), /*non_blocking=*/true); }) == 0);
}
