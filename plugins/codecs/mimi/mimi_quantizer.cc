#include "mimi_quantizer.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

namespace s2s::mimi {
namespace {

constexpr double kLeastUsage = 1e-5;

}  // namespace

Codebook::Codebook(const MimiOptions& options)
    : size_(options.codebook_size), width_(options.codebook_dim) {
  register_buffer("codebook.embed_sum", embed_sum_);
  register_buffer("codebook.cluster_usage", cluster_usage_);
  register_buffer("codebook.initialized", initialized_);
  Codebook::reset_buffers();
}

Codebook::~Codebook() = default;

void Codebook::reset_buffers() {
  const auto generator = at::make_generator<at::CPUGeneratorImpl>(uint64_t{0});
  embed_sum_ = at::empty({size_, width_}, at::kFloat).normal_(0, 0.1, generator);
  cluster_usage_ = at::ones({size_}, at::kFloat);
  initialized_ = at::ones({1}, at::kFloat);
}

at::Tensor Codebook::entries() const {
  return entries_.of(embed_sum_, cluster_usage_, [this] {
    return embed_sum_ / cluster_usage_.clamp_min(kLeastUsage).unsqueeze(1);
  });
}

/// at::cdist takes a product for more than 25 rows or entries, for which it prepares both sides.
/// The side of the entries is prepared once here.
at::Tensor Codebook::nearest(const at::Tensor& rows_ND) const {
  constexpr int64_t kFew = 25;
  const at::Tensor entries_VD = entries();
  if (rows_ND.size(0) <= kFew && size_ <= kFew) {
    return nearest_entry(rows_ND, entries_VD, EntryDistance::kCdist);
  }
  const at::Tensor factor_VE = factor_.of(embed_sum_, cluster_usage_, [&] {
    const at::Tensor square_V1 = entries_VD.pow(2).sum(-1, /*keepdim=*/true);
    return at::cat({entries_VD, at::ones_like(square_V1), square_V1}, -1);
  });
  const at::Tensor square_N1 = rows_ND.pow(2).sum(-1, /*keepdim=*/true);
  const at::Tensor rows_NE = at::cat({rows_ND.mul(-2), square_N1, at::ones_like(square_N1)}, -1);
  return at::matmul(rows_NE, factor_VE.t()).clamp_min_(0).sqrt_().argmin(-1);
}

ResidualQuantizer::ResidualQuantizer(const MimiOptions& options, int64_t books)
    : width_(options.hidden_size) {
  const int64_t inner = options.vector_quantization_hidden_dimension, outer = options.hidden_size;
  if (inner != outer) {
    input_proj_ = std::make_unique<StoredWeight>(std::vector<int64_t>{inner, outer, 1}, outer, 0);
    output_proj_ = std::make_unique<StoredWeight>(std::vector<int64_t>{outer, inner, 1}, inner, 0);
    register_block("input_proj", *input_proj_);
    register_block("output_proj", *output_proj_);
  }
  for (int64_t k = 0; k < books; ++k) {
    books_.push_back(std::make_unique<Codebook>(options));
    register_block("layers." + std::to_string(k), *books_.back());
  }
}

ResidualQuantizer::~ResidualQuantizer() = default;

std::vector<at::Tensor> ResidualQuantizer::entries(int64_t books) const {
  std::vector<at::Tensor> found;
  for (int64_t k = 0; k < books; ++k) found.push_back(books_[static_cast<size_t>(k)]->entries());
  return found;
}

at::Tensor ResidualQuantizer::encode(const at::Tensor& latents_BHT, int64_t books) const {
  if (latents_BHT.size(2) == 0) {
    return latents_BHT.new_empty({latents_BHT.size(0), books, 0}, at::kLong);
  }
  const int64_t batch = latents_BHT.size(0), frames = latents_BHT.size(2);
  const at::Tensor outer_BTH = latents_BHT.transpose(1, 2);
  const at::Tensor inner_BTD = input_proj_ ? input_proj_->product(outer_BTH) : outer_BTH;
  at::Tensor left_ND = inner_BTD.reshape({batch * frames, -1});
  std::vector<at::Tensor> codes;
  for (int64_t k = 0; k < books; ++k) {
    const Codebook& book = *books_[static_cast<size_t>(k)];
    const at::Tensor code_N = book.nearest(left_ND);
    left_ND = left_ND - at::embedding(book.entries(), code_N);
    codes.push_back(code_N.view({batch, frames}));
  }
  return at::stack(codes, 1);
}

at::Tensor ResidualQuantizer::decode(const at::Tensor& codes_BKT) const {
  const at::Tensor sum_BTD = sum_of_entries(codes_BKT.transpose(1, 2), entries(codes_BKT.size(1)));
  return (output_proj_ ? output_proj_->product(sum_BTD) : sum_BTD).transpose(1, 2);
}

at::Tensor ResidualQuantizer::none(int64_t batch_size) const {
  return at::zeros({batch_size, width_, 0}, books_.front()->entries().options());
}

SplitQuantizer::SplitQuantizer(const MimiOptions& options)
    : semantic_books_(options.num_semantic_quantizers),
      semantic_(options, semantic_books_),
      acoustic_(options, options.num_quantizers - semantic_books_) {
  register_block("semantic_residual_vector_quantizer", semantic_);
  register_block("acoustic_residual_vector_quantizer", acoustic_);
}

SplitQuantizer::~SplitQuantizer() = default;

at::Tensor SplitQuantizer::encode(const at::Tensor& latents_BHT, int64_t books) const {
  const at::Tensor semantic_BKT = semantic_.encode(latents_BHT, semantic_books_);
  if (books == semantic_books_) return semantic_BKT;
  return at::cat({semantic_BKT, acoustic_.encode(latents_BHT, books - semantic_books_)}, 1);
}

at::Tensor SplitQuantizer::decode(const at::Tensor& codes_BKT) const {
  if (codes_BKT.size(2) == 0) return semantic_.none(codes_BKT.size(0));
  const at::Tensor semantic_BHT = semantic_.decode(codes_BKT.narrow(1, 0, semantic_books_));
  const int64_t acoustic = codes_BKT.size(1) - semantic_books_;
  if (acoustic == 0) return semantic_BHT;
  return semantic_BHT + acoustic_.decode(codes_BKT.narrow(1, semantic_books_, acoustic));
}

}  // namespace s2s::mimi
