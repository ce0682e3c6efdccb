#include "base/reading_budget.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/interrupt.h"
#include "s2s/error.h"

namespace s2s {
namespace {

/// Number of values, or of steps of 64 bytes, between two checks of the clock.
constexpr uint64_t kValuesPerLook = 4096;
constexpr uint64_t kBytesPerValue = 64;

uint64_t add_capped(uint64_t sum, uint64_t more) {
  uint64_t total = 0;
  return __builtin_add_overflow(sum, more, &total) ? std::numeric_limits<uint64_t>::max() : total;
}

Error too_much(const std::string& path, const std::string& what, const std::string& most,
               uint64_t admitted) {
  return {ExitCode::kData, "io/too-much",
          fmt::format("'{}' takes more than {} to read\n"
                      "  expected:  at most {} for the {} bytes of it that are read\n"
                      "  next:      the file is damaged, or made to take memory or time; get it "
                      "again from its author, or convert it with the program that wrote it",
                      path, what, most, admitted)};
}

Error stopped(const std::string& path) {
  return {ExitCode::kStopped, "io/interrupted",
          fmt::format("reading '{}' was interrupted\n"
                      "  expected:  no ^C while a file is read\n"
                      "  next:      run the command again; nothing was changed",
                      path)};
}

}  // namespace

ReadingBudget::ReadingBudget(std::string path, Clock::time_point begin)
    : ReadingBudget(std::move(path), std::make_shared<Spent>(Spent{begin})) {}

void ReadingBudget::admit(uint64_t bytes) {
  spent_->admitted = add_capped(spent_->admitted, bytes);
}

uint64_t ReadingBudget::most_bytes() const {
  const uint64_t most = std::numeric_limits<uint64_t>::max() / kBytesPerByte;
  return std::max(kAnyBytes, std::min(spent_->admitted, most) * kBytesPerByte);
}

uint64_t ReadingBudget::most_values() const {
  const uint64_t most = (std::numeric_limits<uint64_t>::max() - kAnyValues) / kValuesPerByte;
  return kAnyValues + kValuesPerByte * std::min(spent_->admitted, most);
}

double ReadingBudget::most_seconds() const {
  return kAnySeconds + static_cast<double>(spent_->admitted) / kBytesPerSecond;
}

void ReadingBudget::take_values(uint64_t count) {
  spent_->values = add_capped(spent_->values, count);
  if (spent_->values > most_values()) {
    const std::string most = fmt::format("{} values", most_values());
    throw too_much(path_, most, most, spent_->admitted);
  }
  tick(count);
}

void ReadingBudget::take_bytes(uint64_t count) {
  spent_->bytes = add_capped(spent_->bytes, count);
  if (spent_->bytes > most_bytes()) {
    throw too_much(path_, fmt::format("{} bytes of content", most_bytes()),
                   fmt::format("{} bytes, or {} times its size,", kAnyBytes, kBytesPerByte),
                   spent_->admitted);
  }
  tick(count / kBytesPerValue);
}

void ReadingBudget::tick(uint64_t count) {
  spent_->since_clock = add_capped(spent_->since_clock, count + 1);
  if (spent_->since_clock >= kValuesPerLook) keep_time();
}

void ReadingBudget::keep_time() {
  spent_->since_clock = 0;
  const std::chrono::duration<double> taken = Clock::now() - spent_->begin;
  if (taken.count() > most_seconds()) {
    const std::string most = fmt::format("{:.0f} s", most_seconds());
    throw too_much(path_, most, most, spent_->admitted);
  }
  if (taken.count() > kInterruptedSeconds && interrupt_requested()) throw stopped(path_);
}

}  // namespace s2s
