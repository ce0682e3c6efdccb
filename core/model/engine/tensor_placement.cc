#include "engine/tensor_placement.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <functional>
#include <numeric>

namespace s2s {
namespace {

int64_t product(const std::vector<int64_t>& sizes, size_t first) {
  return std::accumulate(sizes.begin() + static_cast<std::ptrdiff_t>(std::min(first, sizes.size())),
                         sizes.end(), int64_t{1}, std::multiplies<>());
}

}  // namespace

TensorSpan DimShard::of(int64_t size) const {
  const int64_t length = (size + num_parts - 1) / num_parts;
  const int64_t begin = std::min(size, part * length);
  return {begin, std::min(length, size - begin)};
}

std::vector<TensorSpan> DimShard::spans(const std::vector<int64_t>& sizes) const {
  if (dim < 0) return {{0, product(sizes, 0)}};
  // Dim `dim` consists of pieces of `size` elements, each `inner` elements wide.
  const int64_t pieces = dim == 0 ? groups : sizes[0];
  const int64_t size = dim == 0 ? sizes[0] / groups : sizes[1];
  const int64_t inner = product(sizes, static_cast<size_t>(dim) + 1);
  const TensorSpan here = of(size);
  std::vector<TensorSpan> spans;
  for (int64_t piece = 0; piece < pieces && here.count > 0; ++piece) {
    spans.push_back({(piece * size + here.begin) * inner, here.count * inner});
  }
  return spans;
}

at::Tensor DimShard::view(const at::Tensor& whole) const {
  const at::Tensor pieces = whole.unflatten(0, {dim == 0 ? groups : 1, -1});
  const TensorSpan here = of(pieces.size(dim + 1));
  return pieces.narrow(dim + 1, here.begin, here.count);
}

at::Tensor DimShard::cut(const at::Tensor& whole) const {
  if (dim < 0) return whole;
  return view(whole).flatten(0, 1).clone(at::MemoryFormat::Contiguous);
}

}  // namespace s2s
