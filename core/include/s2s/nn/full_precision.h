#pragma once
// Work that stays in its own type where a training step runs in mixed precision.

#include <c10/core/DispatchKeySet.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

namespace s2s {

/// Turns autocast off for a scope, on every device: for features, codecs and whatever else would
/// lose its meaning in bfloat16. Source: NeMo's fp32_precision around the codec.
class FullPrecision {
 public:
  FullPrecision() = default;
  FullPrecision(const FullPrecision&) = delete;
  FullPrecision& operator=(const FullPrecision&) = delete;

 private:
  c10::impl::ExcludeDispatchKeyGuard no_autocast_{c10::autocast_dispatch_keyset};
};

}  // namespace s2s
