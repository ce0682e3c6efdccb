#pragma once
// Residual quantization in a narrow space: each book looks for the direction of what is left.

#include <memory>
#include <vector>

#include "dac_options.h"
#include "s2s/nn/audio.h"

namespace s2s::dac {

class DacQuantizer : public Block {
 public:
  explicit DacQuantizer(const DacOptions& options);
  ~DacQuantizer() override;
  struct Quantized {
    at::Tensor codes_BKT;
    at::Tensor sum_BHT;  // of the books' entries, projected back
  };
  /// latents [B, H, T] -> the first `books`.
  Quantized encode(const at::Tensor& latents_BHT, int64_t books) const;
  /// codes [B, K, T] of the first books -> [B, H, T].
  at::Tensor decode(const at::Tensor& codes_BKT) const;

 private:
  struct Book;
  int64_t width_;
  std::vector<std::unique_ptr<Book>> books_;
};

}  // namespace s2s::dac
