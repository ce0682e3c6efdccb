#include "device/backend/generator.h"

#include <ATen/CPUGeneratorImpl.h>

#include "device/backend/streams.h"

namespace s2s::test_device {
namespace {

constexpr uint64_t kOtherNumbers = 0x9E3779B97F4A7C15;

class DeviceGenerator final : public c10::GeneratorImpl {
 public:
  DeviceGenerator()
      : GeneratorImpl(this_device(), c10::DispatchKeySet(c10::DispatchKey::PrivateUse1)),
        drawn_from_(at::detail::createCPUGenerator()) {
    set_current_seed(c10::default_rng_seed_val);
  }
  const at::Generator& drawn_from() const { return drawn_from_; }

  void set_current_seed(uint64_t seed) override {
    seed_ = seed;
    drawn_from_.set_current_seed(seed ^ kOtherNumbers);
  }
  uint64_t current_seed() const override { return seed_; }
  uint64_t seed() override {
    set_current_seed(c10::detail::getNonDeterministicRandom());
    return seed_;
  }
  void set_offset(uint64_t) override { TORCH_CHECK(false, "the test device has no offsets"); }
  uint64_t get_offset() const override { TORCH_CHECK(false, "the test device has no offsets"); }
  void set_state(const c10::TensorImpl& state) override {
    drawn_from_.unsafeGetGeneratorImpl()->set_state(state);
  }
  c10::intrusive_ptr<c10::TensorImpl> get_state() const override {
    return drawn_from_.unsafeGetGeneratorImpl()->get_state();
  }

 private:
  DeviceGenerator* clone_impl() const override {
    auto* const copy = new DeviceGenerator;
    copy->seed_ = seed_;
    copy->drawn_from_ = drawn_from_.clone();
    return copy;
  }

  uint64_t seed_ = 0;
  at::Generator drawn_from_;
};

}  // namespace

const at::Generator& default_generator() {
  static auto* const one = new at::Generator(at::make_generator<DeviceGenerator>());
  return *one;
}

at::Generator new_generator() { return at::make_generator<DeviceGenerator>(); }

c10::IValue host_generator(const c10::IValue& asked) {
  const at::Generator generator = asked.isNone() ? default_generator() : asked.toGenerator();
  TORCH_CHECK(generator.device().type() == c10::DeviceType::PrivateUse1,
              "expected a generator of the test device, but found one of ", generator.device());
  return static_cast<DeviceGenerator*>(generator.unsafeGetGeneratorImpl())->drawn_from();
}

}  // namespace s2s::test_device
