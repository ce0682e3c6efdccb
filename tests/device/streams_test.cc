// Streams of the test device: what nobody waits for has not happened yet.
#include <ATen/ATen.h>
#include <c10/core/Event.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <doctest/doctest.h>

#include "base/side_stream.h"
#include "device/test_device.h"

namespace {

using s2s::test::test_device;

c10::Stream side_stream() {
  return c10::impl::VirtualGuardImpl(at::kPrivateUse1).getStreamFromGlobalPool(test_device());
}

c10::Stream default_stream() {
  return c10::impl::VirtualGuardImpl(at::kPrivateUse1).getDefaultStream(test_device());
}

at::Tensor pinned(int64_t numel) {
  test_device();
  return at::empty({numel}, at::TensorOptions().pinned_memory(true));
}

bool is_poisoned(const at::Tensor& tensor) { return tensor.isnan().all().item<bool>(); }

float first(const at::Tensor& tensor) { return tensor[0].item<float>(); }

}  // namespace

TEST_CASE("memory of the host can be pinned") {
  CHECK(pinned(3).is_pinned());
  CHECK(is_poisoned(pinned(3)));
  const at::Tensor plain = at::ones({3});
  CHECK_FALSE(plain.is_pinned());
  CHECK(plain.pin_memory().is_pinned());
  CHECK(first(plain.pin_memory()) == 1);
}

TEST_CASE("a copy to pinned memory has not happened before it is waited for") {
  const at::Tensor x = at::full({3}, 2.0, test_device());
  const at::Tensor here = pinned(3);
  here.copy_(x, /*non_blocking=*/true);
  CHECK(is_poisoned(here));
  default_stream().synchronize();
  CHECK(first(here) == 2);
}

TEST_CASE("a copy to memory that is not pinned is waited for") {
  const at::Tensor x = at::full({3}, 2.0, test_device());
  at::Tensor here = at::empty({3});
  here.copy_(x, /*non_blocking=*/true);
  CHECK(first(here) == 2);
}

TEST_CASE("pinned memory that changes before its copy runs is copied changed") {
  const at::Tensor here = pinned(3);
  here.fill_(1);
  const at::Tensor there = here.to(test_device(), /*non_blocking=*/true);
  here.fill_(5);
  CHECK(first(there.cpu()) == 5);
  const at::Tensor plain = at::ones({3});
  const at::Tensor safe = plain.to(test_device(), /*non_blocking=*/true);
  plain.fill_(5);
  CHECK(first(safe.cpu()) == 1);
}

TEST_CASE("pinned memory lives as long as its copy needs it") {
  at::Tensor here = pinned(3);
  here.fill_(1);
  const at::Tensor there = here.to(test_device(), /*non_blocking=*/true);
  here = at::Tensor();
  const at::Tensor next = pinned(3);
  next.fill_(7);
  CHECK(first(there.cpu()) == 1);
}

TEST_CASE("a stream that does not wait for another sees nothing of its copies") {
  const at::Tensor here = pinned(3);
  here.fill_(1);
  at::Tensor there = at::empty({3}, at::TensorOptions().device(test_device()));
  const c10::Stream side = side_stream();
  c10::Event arrived(at::kPrivateUse1);
  {
    const c10::StreamGuard guard(side);
    there.copy_(here, /*non_blocking=*/true);
  }
  arrived.record(side);
  CHECK(is_poisoned(there.clone()));  // on the default stream
  SUBCASE("until it waits for the event") { arrived.block(default_stream()); }
  SUBCASE("until the host waits for the event") { arrived.synchronize(); }
  SUBCASE("until the host waits for the stream") { side.synchronize(); }
  SUBCASE("until the host waits for the device") { at::accelerator::synchronizeDevice(0); }
  CHECK(first(there.clone()) == 1);
}

TEST_CASE("an event of a stream says what ran, and asking lets time pass") {
  const at::Tensor here = pinned(3);
  const at::Tensor there = here.to(test_device(), /*non_blocking=*/true);
  c10::Event event(at::kPrivateUse1);
  event.record(default_stream());
  CHECK_FALSE(event.query());
  CHECK(event.query());
}

TEST_CASE("memory that is freed while another stream copies it is lost, unless it was recorded") {
  const at::Tensor here = pinned(3);
  at::Tensor x = at::full({3}, 2.0, test_device());
  const c10::Stream side = side_stream();
  {
    const c10::StreamGuard guard(side);
    here.copy_(x, /*non_blocking=*/true);
  }
  const bool is_recorded = [&] {
    bool recorded = false;
    SUBCASE("not recorded") {}
    SUBCASE("recorded") {
      x.record_stream(side);
      recorded = true;
    }
    return recorded;
  }();
  x = at::Tensor();
  side.synchronize();
  CHECK(is_poisoned(here) == !is_recorded);
}

TEST_CASE("memory that is freed while its own stream copies it is copied first") {
  const at::Tensor here = pinned(3);
  at::Tensor x = at::full({3}, 2.0, test_device());
  here.copy_(x, /*non_blocking=*/true);
  x = at::Tensor();
  default_stream().synchronize();
  CHECK(first(here) == 2);
}

TEST_CASE("a copy that runs ahead does not wait for the work of the current stream") {
  const at::Tensor early = pinned(3), late = pinned(3);
  early.fill_(1);
  const at::Tensor x = at::full({3}, 2.0, test_device());
  late.copy_(x, /*non_blocking=*/true);  // work of the current stream
  const s2s::SideStream side(test_device());
  at::Tensor there;
  const auto copy = [&] { there = early.to(test_device(), /*non_blocking=*/true); };
  SUBCASE("ahead") {
    const s2s::StreamMark mark = side.run_ahead(copy);
    mark->synchronize();
    CHECK(is_poisoned(late));
  }
  SUBCASE("after it") {
    const s2s::StreamMark mark = side.run(copy);
    mark->synchronize();
    CHECK(first(late) == 2);
  }
  CHECK(first(there) == 1);
}

TEST_CASE("what runs ahead is there once the current stream has waited for it") {
  const at::Tensor here = pinned(3);
  here.fill_(1);
  const s2s::SideStream side(test_device());
  at::Tensor there;
  const s2s::StreamMark mark =
      side.run_ahead([&] { there = here.to(test_device(), /*non_blocking=*/true); });
  CHECK(is_poisoned(there.clone()));
  side.wait_for(mark);
  side.hand_over(there);
  CHECK(first(there.clone()) == 1);
}

TEST_CASE("late numbers are read once, as they were when they left") {
  at::Tensor x = at::full({2}, 2.0, at::TensorOptions(at::kDouble).device(test_device()));
  const int64_t before = s2s::test::host_waits();
  const s2s::LateNumbers late(x);
  CHECK(s2s::test::host_waits() == before);
  CHECK(late.read() == std::vector<double>{2, 2});
  CHECK(s2s::test::host_waits() == before + 1);
  CHECK(s2s::LateNumbers(at::ones({3}, at::kDouble)).read() == std::vector<double>{1, 1, 1});
}
