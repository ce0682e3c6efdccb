#include "audio_rows.h"

#include <ATen/Functions.h>

#include <algorithm>
#include <utility>

namespace s2s::cuts {

AudioRows::AudioRows(std::vector<int64_t> lengths, BatchMemory& memory)
    : lengths_(std::move(lengths)),
      audio_BS_(memory.take(static_cast<int64_t>(lengths_.size()),
                            *std::max_element(lengths_.begin(), lengths_.end()))) {}

bool AudioRows::put(size_t row, const at::Tensor& samples_S) const {
  const int64_t length = lengths_[row];
  if (samples_S.size(0) != length) return false;
  const at::Tensor to_S = audio_BS_.select(0, static_cast<int64_t>(row));
  to_S.narrow(0, 0, length).copy_(samples_S);
  to_S.narrow(0, length, to_S.size(0) - length).zero_();
  return true;
}

at::Tensor AudioRows::row(size_t row) const {
  return audio_BS_.select(0, static_cast<int64_t>(row)).narrow(0, 0, lengths_[row]);
}

at::Tensor AudioRows::lengths_B() const { return at::tensor(lengths_, at::kLong); }

}  // namespace s2s::cuts
