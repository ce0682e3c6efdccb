#pragma once
// Keeps operations in their own dtype when a training step uses autocast.

#include <c10/core/DispatchKeySet.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

namespace s2s {

/// Disables autocast for a scope, on every device. For features, codecs and other code that is not
/// accurate enough in bfloat16. Source: NeMo's fp32_precision around the codec.
class FullPrecision {
 public:
  FullPrecision() = default;
  FullPrecision(const FullPrecision&) = delete;
  FullPrecision& operator=(const FullPrecision&) = delete;

 private:
  c10::impl::ExcludeDispatchKeyGuard no_autocast_{c10::autocast_dispatch_keyset};
};

}  // namespace s2s
