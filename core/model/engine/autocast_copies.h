#pragma once

#include <ATen/autocast_mode.h>

namespace s2s {

/// Within its scope autocast keeps none of the rounded weights that it makes: they go with what
/// used them. Kept ones would outlive the weights, which change, or are with other ranks meanwhile.
class WithoutAutocastCopies {
 public:
  WithoutAutocastCopies() : kept_(at::autocast::is_autocast_cache_enabled()) {
    at::autocast::set_autocast_cache_enabled(false);
  }
  ~WithoutAutocastCopies() { at::autocast::set_autocast_cache_enabled(kept_); }
  WithoutAutocastCopies(const WithoutAutocastCopies&) = delete;
  WithoutAutocastCopies& operator=(const WithoutAutocastCopies&) = delete;

 private:
  bool kept_;
};

}  // namespace s2s
