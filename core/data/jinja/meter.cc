#include "jinja/meter.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <ctime>
#include <utility>

#include "base/interrupt.h"
#include "jinja/template_error.h"

namespace s2s::jinja {
namespace {

/// What a meter reserves at once of the process's memory.
constexpr int64_t kBlockBytes = int64_t{1} << 20;

std::atomic<int64_t> g_reserved_bytes{0};

double thread_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

}  // namespace

constinit thread_local Meter* g_meter [[gnu::tls_model("initial-exec")]] = nullptr;

Meter::Meter(const MeterLimits& limits)
    : limits_(limits),
      outer_(std::exchange(g_meter, this)),
      room_(static_cast<size_t>(std::min(limits.units_per_check, limits.work))),
      granted_(static_cast<int64_t>(room_)),
      reserved_bytes_(kBlockBytes) {}

Meter::~Meter() {
  g_reserved_bytes -= reserved_bytes_ - kBlockBytes;
  g_meter = outer_;
}

void Meter::refill(size_t units) {
  const auto wanted = static_cast<int64_t>(std::min(units, size_t{1} << 60));
  const int64_t total = work() + wanted;
  if (total > limits_.work) {
    throw TemplateError(fmt::format(
        "the template runs too long: it needs more than {} units of work for one document",
        limits_.work));
  }
  const int64_t more = std::min(limits_.units_per_check, limits_.work - total);
  granted_ = total + more;
  room_ = static_cast<size_t>(more);
  check_clock();
}

void Meter::check_clock() {
  const double now_s = thread_seconds();
  if (started_s_ < 0) started_s_ = now_s;
  const double passed_s = now_s - started_s_;
  if (passed_s > limits_.seconds) {
    throw TemplateError(fmt::format(
        "the template runs too long: more than {:g} s of processor time for one document",
        limits_.seconds));
  }
  if (passed_s >= limits_.seconds_before_interrupt && interrupt_requested()) throw Interrupted();
}

void Meter::hold(size_t num_bytes) {
  charge(2 + num_bytes / 64);
  live_bytes_ += static_cast<int64_t>(std::min(num_bytes, size_t{1} << 60));
  if (live_bytes_ <= most_live_bytes_) return;
  if (live_bytes_ > reserved_bytes_) {
    try {
      reserve();
    } catch (const TemplateError&) {
      live_bytes_ -= static_cast<int64_t>(std::min(num_bytes, size_t{1} << 60));
      throw;
    }
  }
  most_live_bytes_ = live_bytes_;
}

void Meter::reserve() {
  if (live_bytes_ > limits_.live_bytes) {
    throw TemplateError(
        fmt::format("the template needs too much memory: it holds more than {} MiB for one "
                    "document",
                    limits_.live_bytes >> 20));
  }
  const int64_t wanted = (live_bytes_ / kBlockBytes + 1) * kBlockBytes;
  const int64_t more = wanted - reserved_bytes_;
  const int64_t all = g_reserved_bytes.fetch_add(more) + more;
  if (all > limits_.process_bytes && wanted > limits_.fair_bytes) {
    g_reserved_bytes -= more;
    throw TemplateError(
        fmt::format("the template needs too much memory: the documents that are rendered at the "
                    "same time hold more than {} MiB",
                    limits_.process_bytes >> 20));
  }
  reserved_bytes_ = wanted;
}

void hold_bytes(size_t num_bytes) {
  if (g_meter != nullptr) g_meter->hold(num_bytes);
}

void release_bytes(size_t num_bytes) noexcept {
  if (g_meter != nullptr) g_meter->release(num_bytes);
}

void Held::add(size_t num_bytes) {
  if (g_meter == nullptr || num_bytes == 0) return;
  g_meter->hold(num_bytes);
  num_bytes_ += num_bytes;
}

void Held::grow(size_t num_bytes) {
  if (g_meter == nullptr) return;
  const size_t wanted = num_bytes_ == 0 ? num_bytes : std::max(num_bytes, num_bytes_ * 3 / 2);
  add(wanted - num_bytes_);
}

void Held::release() noexcept { release_bytes(std::exchange(num_bytes_, 0)); }

Held& Held::operator=(const Held& other) {
  if (this == &other) return *this;
  Held copy(other);
  std::swap(num_bytes_, copy.num_bytes_);
  return *this;
}

Held& Held::operator=(Held&& other) noexcept {
  std::swap(num_bytes_, other.num_bytes_);
  return *this;
}

}  // namespace s2s::jinja
