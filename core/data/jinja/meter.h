#pragma once
// Limits what the rendering of one document may cost: work, memory and time. Everything that works
// on a template's values charges the meter of its thread in advance. The meter belongs to the
// thread and is not a parameter, because containers and comparisons are charged, too, and nothing
// can bypass it.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

namespace s2s::jinja {

struct MeterLimits {
  /// A unit takes about 10 to 50 ns: an expression, a comparison, or copying 64 bytes.
  int64_t work = 25'000'000;
  /// Bytes that values, texts and lists take at one time.
  int64_t live_bytes = int64_t{192} << 20;
  /// Processor time of the thread, so that a suspended or busy machine fails no document.
  double seconds = 1;
  /// Bytes of all threads together. A document below `fair_bytes` never fails because of others.
  int64_t process_bytes = int64_t{512} << 20;
  int64_t fair_bytes = int64_t{8} << 20;
  /// Units between two checks of the clock and of the interrupt flag.
  int64_t units_per_check = 4096;
  /// A document that has taken this long can be interrupted by ^C.
  double seconds_before_interrupt = 0.1;
};

/// Measures what its thread does while the meter exists.
class Meter {
 public:
  explicit Meter(const MeterLimits& limits = {});
  ~Meter();
  Meter(const Meter&) = delete;
  Meter& operator=(const Meter&) = delete;

  /// Errors: TemplateError beyond a limit; Interrupted.
  void charge(size_t units = 1) {
    if (units > room_) return refill(units);
    room_ -= units;
  }
  /// Counts bytes of memory before they are allocated. Errors: as above.
  void hold(size_t num_bytes);
  void release(size_t num_bytes) noexcept { live_bytes_ -= static_cast<int64_t>(num_bytes); }

  int64_t work() const { return granted_ - static_cast<int64_t>(room_); }
  int64_t live_bytes() const { return live_bytes_; }
  int64_t most_live_bytes() const { return most_live_bytes_; }

 private:
  void refill(size_t units);
  void check_clock();
  void reserve();

  const MeterLimits limits_;
  Meter* const outer_;
  size_t room_;
  int64_t granted_;
  double started_s_ = -1;  // unknown before the first check
  int64_t live_bytes_ = 0;
  int64_t most_live_bytes_ = 0;
  int64_t reserved_bytes_;
};

/// The meter of this thread; null: nothing is counted. It is in the thread's static memory, because
/// almost every step reads it.
extern constinit thread_local Meter* g_meter [[gnu::tls_model("initial-exec")]];

/// Charges the meter of this thread, if there is one.
inline void charge(size_t units = 1) {
  if (g_meter != nullptr) g_meter->charge(units);
}
/// Charges bytes that are read or copied in blocks.
inline void charge_bytes(size_t num_bytes) { charge(1 + num_bytes / 64); }

/// Charges a scan of characters in blocks of some thousand, so that the clock is checked during it.
class Walk {
 public:
  /// To be called before each character.
  void step() {
    if (left_ > 0) {
      --left_;
      return;
    }
    charge(kCharacters / 4);
    left_ = kCharacters - 1;
  }

 private:
  static constexpr size_t kCharacters = 4096;
  static constexpr size_t kFirst = 64;  // a short text costs only its allocation

  size_t left_ = kFirst;
};

/// Bytes of memory that the thread's meter counts as long as the object exists. A copy counts
/// again.
class Held {
 public:
  Held() = default;
  explicit Held(size_t num_bytes) { add(num_bytes); }
  Held(const Held& other) { add(other.num_bytes_); }
  Held(Held&& other) noexcept : num_bytes_(other.num_bytes_) { other.num_bytes_ = 0; }
  Held& operator=(const Held& other);
  Held& operator=(Held&& other) noexcept;
  ~Held() {
    if (num_bytes_ > 0) release();
  }
  /// Counts more bytes before they are allocated. Errors: as Meter's.
  void add(size_t num_bytes);
  /// Counts this many bytes in total, and more in advance while they grow.
  void cover(size_t num_bytes) {
    if (num_bytes > num_bytes_) grow(num_bytes);
  }

 private:
  void grow(size_t num_bytes);
  void release() noexcept;

  size_t num_bytes_ = 0;
};

void hold_bytes(size_t num_bytes);
void release_bytes(size_t num_bytes) noexcept;

/// An allocator whose memory the thread's meter counts.
template <class T>
struct Metered {
  using value_type = T;
  Metered() = default;
  template <class U>
  Metered(const Metered<U>&) noexcept {}  // NOLINT: allocators convert
  T* allocate(size_t count) {
    hold_bytes(count * sizeof(T));
    return static_cast<T*>(::operator new(count * sizeof(T)));
  }
  void deallocate(T* place, size_t count) noexcept {
    release_bytes(count * sizeof(T));
    ::operator delete(place);
  }
  bool operator==(const Metered&) const { return true; }
};

/// Makes a shared object whose memory is counted.
template <class T, class... Parts>
std::shared_ptr<T> make_held(Parts&&... parts) {
  return std::allocate_shared<T>(Metered<T>(), std::forward<Parts>(parts)...);
}

}  // namespace s2s::jinja
