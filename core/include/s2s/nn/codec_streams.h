#pragma once
// The state of a codec's streams (CodecStream::state, CodecEncoderStream::state): which stream it
// belongs to.

#include <cstdint>
#include <string>
#include <vector>

#include "s2s/kinds/codec.h"

namespace s2s {

/// Marks the states of a stream, and refuses those of other streams. A mark says what is pushed,
/// the batch size, and the shape, names and sizes of the codec.
class StreamMark {
 public:
  enum class Pushes { kCodes, kAudio };
  StreamMark(Codec& codec, Pushes pushes, int64_t batch_size)
      : codec_(codec), pushes_(pushes), batch_size_(batch_size) {}
  /// `state` with the mark, as the tensor "stream".
  TensorMap on(TensorMap state) const;
  /// Errors: [codec/stream-state] unless `state` has this mark and tensors of these names.
  void check(const TensorMap& state, const std::vector<std::string>& names = {}) const;

 private:
  at::Tensor mark() const;

  Codec& codec_;
  Pushes pushes_;
  int64_t batch_size_;
};

}  // namespace s2s
