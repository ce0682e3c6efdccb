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
/// Elements that are read together: the disk is asked for large blocks.
constexpr int64_t kReadElements = 1 << 20;

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

/// Stretches of elements that follow each other in the file, in their order.
class Stretches {
 public:
  Stretches(const StoredBytes& from, at::ScalarType type, int64_t count)
      : from_(from), width_(static_cast<int64_t>(c10::elementSize(type))), count_(count) {}
  bool at_end() const { return begin_ == count_; }
  int64_t begin() const { return begin_; }
  int64_t length() const { return std::min(kReadElements, count_ - begin_); }
  void read(void* to) const {
    from_.mapping->read(from_.offset + static_cast<uint64_t>(begin_ * width_),
                        static_cast<uint64_t>(length() * width_), to);
  }
  void next() { begin_ += length(); }

 private:
  const StoredBytes& from_;
  int64_t width_, count_, begin_ = 0;
};

/// Reads the elements into the destination itself. False at the first stretch that is not finite.
bool stream_directly(const StoredBytes& from, const at::Tensor& flat) {
  const at::ScalarType type = flat.scalar_type();
  auto* const data = static_cast<char*>(flat.mutable_data_ptr());
  for (Stretches part(from, type, flat.numel()); !part.at_end(); part.next()) {
    char* const to = data + part.begin() * static_cast<int64_t>(c10::elementSize(type));
    part.read(to);
    const std::optional<bool> known = all_finite(to, part.length(), type);
    const bool is_good = known ? *known : all_finite(flat.narrow(0, part.begin(), part.length()));
    if (!is_good) return false;
  }
  return true;
}

/// The same for a destination of another type or place, through a buffer for a few elements.
bool stream_through(const StoredBytes& from, at::ScalarType type, const at::Tensor& flat) {
  const at::Tensor buffer =
      at::empty({std::min(kReadElements, flat.numel())}, at::TensorOptions().dtype(type));
  for (Stretches part(from, type, flat.numel()); !part.at_end(); part.next()) {
    part.read(buffer.mutable_data_ptr());
    const at::Tensor chunk = buffer.narrow(0, 0, part.length());
    if (!all_finite(chunk)) return false;
    flat.narrow(0, part.begin(), part.length()).copy_(chunk);
  }
  return true;
}

bool stream(const StoredBytes& from, at::ScalarType type, const at::Tensor& destination) {
  const at::Tensor flat = destination.view({-1});
  const bool is_direct = is_plain(flat) && flat.scalar_type() == type;
  return is_direct ? stream_directly(from, flat) : stream_through(from, type, flat);
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
