#pragma once
// Keeps audio in memory after its first use.

#include <functional>
#include <mutex>
#include <string>
#include <unordered_map>

#include "s2s/data/audio_loader.h"

namespace s2s::data {

/// For sets that fit into memory. Samples of 16-bit files that need no resampling are kept in two
/// bytes each, without loss; other samples take four bytes. Thread-safe.
class AudioCache : public AudioLoader {
 public:
  at::Tensor source(const Cut& cut, int64_t sample_rate_hz) override;
  at::Tensor target(const Cut& cut, int64_t sample_rate_hz) override;

 private:
  struct Clips {
    std::mutex mutex;
    std::unordered_map<std::string, at::Tensor> by_id;
  };
  using Load = std::function<at::Tensor()>;
  static at::Tensor get(Clips& clips, const std::string& id, const Load& load);

  Clips sources_;
  Clips targets_;
};

}  // namespace s2s::data
