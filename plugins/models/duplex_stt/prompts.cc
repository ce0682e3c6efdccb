#include "prompts.h"

#include <ATen/ATen.h>

namespace s2s::duplex_stt {
namespace {

/// Reads x [B, T, ...] at positions [B, T'], which are clamped to those that exist.
at::Tensor read_at(const at::Tensor& x, const at::Tensor& positions_BT) {
  std::vector<int64_t> sizes{positions_BT.size(0), positions_BT.size(1)};
  at::Tensor index = positions_BT.clamp(0, x.size(1) - 1);
  for (int64_t dim = 2; dim < x.dim(); ++dim) {
    index = index.unsqueeze(-1);
    sizes.push_back(x.size(dim));
  }
  return x.gather(1, index.expand(sizes));
}

/// Returns a mask [B, T] with the trailing dims of x.
at::Tensor like(const at::Tensor& mask_BT, const at::Tensor& x) {
  at::Tensor mask = mask_BT;
  for (int64_t dim = 2; dim < x.dim(); ++dim) mask = mask.unsqueeze(-1);
  return mask;
}

}  // namespace

at::Tensor prepend_rows(const at::Tensor& prompt, const at::Tensor& prompt_lens_B,
                        const at::Tensor& rows, const at::Tensor& lens_B, int64_t fill) {
  const at::Tensor prompt_len_B1 = prompt_lens_B.unsqueeze(1);
  const at::Tensor t_1T =
      at::arange(prompt.size(1) + rows.size(1), prompt_lens_B.options()).unsqueeze(0);
  const at::Tensor own_BT = t_1T - prompt_len_B1;
  const at::Tensor shifted = read_at(rows, own_BT);
  const at::Tensor kept = at::where(like(own_BT.lt(lens_B.unsqueeze(1)), rows), shifted,
                                    at::scalar_tensor(fill, rows.options()));
  return at::where(like(own_BT.lt(0), rows), read_at(prompt, t_1T.expand_as(own_BT)), kept);
}

at::Tensor prepend_silence(const at::Tensor& tokens_BT, const at::Tensor& lens_B,
                           const at::Tensor& prompt_lens_B, int64_t longest, int64_t pad) {
  const at::Tensor silence_BP = at::full({tokens_BT.size(0), longest}, pad, tokens_BT.options());
  return prepend_rows(silence_BP, prompt_lens_B, tokens_BT, lens_B, pad);
}

at::Tensor cut_front(const at::Tensor& tokens_BT, const at::Tensor& skip_B,
                     const at::Tensor& lens_B, int64_t width, int64_t fill) {
  const at::Tensor t_1T = at::arange(width, skip_B.options()).unsqueeze(0);
  const at::Tensor own_BT = read_at(tokens_BT, t_1T + skip_B.unsqueeze(1));
  return at::where(t_1T.lt(lens_B.unsqueeze(1)), own_BT, fill);
}

}  // namespace s2s::duplex_stt
