#include "nn/rms_norm_rows.h"

#include "nn/row_runs.h"

namespace s2s {
namespace {

constexpr int64_t kGradChunks = 16;  // fixed, so that sums do not depend on the number of threads

}  // namespace

std::tuple<at::Tensor, at::Tensor> rms_norm_rows(const at::Tensor& x, const at::Tensor& weight,
                                                 double eps, bool adds_one) {
  const int64_t dim = x.size(-1);
  const int64_t count = x.numel() / dim;
  const at::Tensor y = at::empty_like(x);
  const at::Tensor inv_rms = at::empty({count}, x.options().dtype(at::kFloat));
  with_type(x, [&](auto type) {
    using T = decltype(type);
    run_rows(rows::RmsNormRows<T>{data_of<T>(x), data_of<T>(weight), data_of<T>(y),
                                  data_of<float>(inv_rms), dim, static_cast<float>(eps), adds_one},
             count, dim);
  });
  return {y, inv_rms};
}

std::tuple<at::Tensor, at::Tensor> rms_norm_rows_backward(const at::Tensor& dy, const at::Tensor& x,
                                                          const at::Tensor& weight,
                                                          const at::Tensor& inv_rms,
                                                          bool adds_one) {
  const int64_t dim = x.size(-1);
  const int64_t count = x.numel() / dim;
  const int64_t chunk = (count + kGradChunks - 1) / kGradChunks;
  const at::Tensor dx = at::empty_like(x);
  const at::Tensor parts = at::zeros({kGradChunks, dim}, x.options().dtype(at::kFloat));
  with_type(x, [&](auto type) {
    using T = decltype(type);
    parallel_rows(kGradChunks, 1, [&](int64_t begin, int64_t end) {
      for (int64_t part = begin; part < end; ++part) {
        rows::run(rows::RmsNormGradRows<T>{data_of<T>(dy), data_of<T>(x), data_of<T>(weight),
                                           data_of<float>(inv_rms), data_of<T>(dx),
                                           data_of<float>(parts) + part * dim, dim, adds_one},
                  std::min(count, part * chunk), std::min(count, (part + 1) * chunk));
      }
    });
  });
  return {dx, parts.sum(0).to(x.scalar_type())};
}

}  // namespace s2s
