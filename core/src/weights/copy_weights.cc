#include "weights/copy_weights.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cstring>

#include "weights/finite.h"
#include "weights/weight_mapping.h"

namespace s2s {
namespace {

/// Elements that are checked and copied together: they stay in the processor's cache between.
constexpr int64_t kChunkElements = 1 << 17;

bool is_plain(const at::Tensor& tensor) {
  return tensor.device().is_cpu() && tensor.is_contiguous();
}

void copy_chunk(const at::Tensor& chunk, const at::Tensor& destination) {
  const bool is_same =
      is_plain(destination) && is_plain(chunk) && destination.scalar_type() == chunk.scalar_type();
  if (is_same) {
    std::memcpy(destination.mutable_data_ptr(), chunk.const_data_ptr(), chunk.nbytes());
  } else {
    destination.copy_(chunk);
  }
}

/// The bytes of the part in its file; nothing when they do not follow each other.
std::optional<StoredBytes> bytes_of(const WeightFiles& files, const StoredPart& part) {
  std::optional<StoredBytes> bytes = stored_bytes(files, part.name);
  if (!bytes || bytes->bytes == 0 || part.facts.sizes.empty()) return std::nullopt;
  if (part.slice == nullptr) return bytes;
  const int64_t rows = part.facts.sizes[0];
  const TensorSlice& slice = *part.slice;
  if (slice.dim != 0 || slice.begin < 0 || slice.length <= 0 || slice.length > rows - slice.begin) {
    return std::nullopt;
  }
  const uint64_t row_bytes = bytes->bytes / static_cast<uint64_t>(rows);
  bytes->offset += static_cast<uint64_t>(slice.begin) * row_bytes;
  bytes->bytes = static_cast<uint64_t>(slice.length) * row_bytes;
  return bytes;
}

/// Reads the elements into the destination itself where they are of its type, else into a buffer
/// for a few of them. False at the first stretch that is not finite.
bool stream(const StoredBytes& from, at::ScalarType type, const at::Tensor& destination) {
  const at::Tensor flat = destination.view({-1});
  const bool is_direct = is_plain(flat) && flat.scalar_type() == type;
  const auto width = static_cast<uint64_t>(c10::elementSize(type));
  at::Tensor buffer;
  if (!is_direct) {
    buffer = at::empty({std::min(kChunkElements, flat.numel())}, at::TensorOptions().dtype(type));
  }
  for (int64_t begin = 0; begin < flat.numel(); begin += kChunkElements) {
    const int64_t count = std::min(kChunkElements, flat.numel() - begin);
    const at::Tensor part = flat.narrow(0, begin, count);
    const at::Tensor chunk = is_direct ? part : buffer.narrow(0, 0, count);
    from.mapping->read(from.offset + static_cast<uint64_t>(begin) * width,
                       static_cast<uint64_t>(count) * width, chunk.mutable_data_ptr());
    if (!all_finite(chunk)) return false;
    if (!is_direct) part.copy_(chunk);
  }
  return true;
}

}  // namespace

void copy_checked(const std::string& source, const std::string& name, const at::Tensor& value,
                  const at::Tensor& destination) {
  if (value.dim() == 0 || value.numel() == 0) {
    check_finite(source, name, value);
    destination.copy_(value);
    return;
  }
  const int64_t rows = value.size(0);
  const int64_t step = std::max<int64_t>(1, kChunkElements / (value.numel() / rows));
  for (int64_t begin = 0; begin < rows; begin += step) {
    const int64_t count = std::min(step, rows - begin);
    const at::Tensor view = value.narrow(0, begin, count);
    if (is_plain(view)) map_pages(view.const_data_ptr(), view.nbytes());
    const at::Tensor chunk = view.contiguous();
    if (!all_finite(chunk)) check_finite(source, name, value);  // says where
    copy_chunk(chunk, destination.narrow(0, begin, count));
  }
}

void copy_stored(const WeightFiles& files, const StoredPart& part, const at::Tensor& destination) {
  const auto value = [&] {
    return part.slice == nullptr ? files.tensor(part.name) : files.view(part.name, *part.slice);
  };
  const std::optional<StoredBytes> bytes = bytes_of(files, part);
  if (bytes && destination.is_contiguous()) {
    if (!stream(*bytes, part.facts.dtype, destination)) {
      check_finite(files.path(), part.name, value());
    }
    return;
  }
  copy_checked(files.path(), part.name, value(), destination);
  files.release(part.name);
}

}  // namespace s2s
