#include "dac_quantizer.h"

#include <ATen/ATen.h>

namespace s2s::dac {
namespace {

constexpr double kLeastLength = 1e-12;

at::Tensor direction(const at::Tensor& x_ND) {
  return x_ND / x_ND.norm(2, 1, /*keepdim=*/true).clamp_min(kLeastLength);
}

at::Tensor projected(const at::Tensor& x_BCT, const StoredWeight& weight) {
  return weight.product(x_BCT.transpose(1, 2)).transpose(1, 2);
}

}  // namespace

struct DacQuantizer::Book : Block {
  explicit Book(const DacOptions& o)
      : in_proj({o.codebook_dim, o.hidden_size(), 1}, o.hidden_size(), o.codebook_dim),
        out_proj({o.hidden_size(), o.codebook_dim, 1}, o.codebook_dim, o.hidden_size()),
        entries({o.codebook_size, o.codebook_dim}, 1, 0) {
    register_block("in_proj", in_proj);
    register_block("out_proj", out_proj);
    register_block("codebook", entries);
  }

  /// The entry with the largest cosine, for each frame, [B, T].
  at::Tensor codes(const at::Tensor& narrow_BDT) const {
    const at::Tensor rows_ND =
        direction(narrow_BDT.permute({0, 2, 1}).reshape({-1, narrow_BDT.size(1)}));
    const at::Tensor entries_VD = direction(entries.value());
    const at::Tensor score_NV =
        -(rows_ND.pow(2).sum(1, /*keepdim=*/true) - 2 * at::matmul(rows_ND, entries_VD.t())) +
        entries_VD.pow(2).sum(1, /*keepdim=*/true).t();
    return score_NV.argmax(1).view({narrow_BDT.size(0), -1});
  }

  at::Tensor entry(const at::Tensor& codes_BT) const {
    return at::embedding(entries.value(), codes_BT).transpose(1, 2);
  }

  StoredWeight in_proj, out_proj, entries;
};

DacQuantizer::DacQuantizer(const DacOptions& options) : width_(options.hidden_size()) {
  for (int64_t k = 0; k < options.n_codebooks; ++k) {
    books_.push_back(std::make_unique<Book>(options));
    register_block("quantizers." + std::to_string(k), *books_.back());
  }
}

DacQuantizer::~DacQuantizer() = default;

DacQuantizer::Quantized DacQuantizer::encode(const at::Tensor& latents_BHT, int64_t books) const {
  if (latents_BHT.size(2) == 0) {
    return {latents_BHT.new_empty({latents_BHT.size(0), books, 0}, at::kLong), latents_BHT};
  }
  at::Tensor residual_BHT = latents_BHT, sum_BHT;
  std::vector<at::Tensor> codes;
  for (int64_t k = 0; k < books; ++k) {
    const Book& book = *books_[static_cast<size_t>(k)];
    const at::Tensor narrow_BDT = projected(residual_BHT, book.in_proj);
    codes.push_back(book.codes(narrow_BDT));
    // The peer writes the entry as the latents plus a difference, which rounds.
    const at::Tensor entry_BDT = narrow_BDT + (book.entry(codes.back()) - narrow_BDT);
    const at::Tensor wide_BHT = projected(entry_BDT, book.out_proj);
    sum_BHT = sum_BHT.defined() ? sum_BHT + wide_BHT : wide_BHT;
    residual_BHT = residual_BHT - wide_BHT;
  }
  return {at::stack(codes, 1), sum_BHT};
}

at::Tensor DacQuantizer::decode(const at::Tensor& codes_BKT) const {
  if (codes_BKT.size(2) == 0) {
    return at::zeros({codes_BKT.size(0), width_, 0}, books_[0]->entries.value().options());
  }
  at::Tensor sum_BHT;
  for (int64_t k = 0; k < codes_BKT.size(1); ++k) {
    const Book& book = *books_[static_cast<size_t>(k)];
    const at::Tensor wide_BHT = projected(book.entry(codes_BKT.select(1, k)), book.out_proj);
    sum_BHT = sum_BHT.defined() ? sum_BHT + wide_BHT : wide_BHT;
  }
  return sum_BHT;
}

}  // namespace s2s::dac
