#include "quantizer.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/grad_mode.h>

#include <cmath>

#include "s2s/nn/audio.h"
#include "s2s/nn/scalar_groups.h"

namespace s2s::codec {
namespace {

/// Averages below this are zero, and their quotients without meaning.
constexpr double kNothing = 1e-12;

at::Tensor normal(std::vector<int64_t> sizes, uint64_t seed) {
  const auto generator = at::make_generator<at::CPUGeneratorImpl>(seed);
  return at::empty(sizes, at::kFloat).normal_(0, 1, generator);
}

/// exp of the entropy of counts [V].
at::Tensor perplexity_of(const at::Tensor& counts_V) {
  const at::Tensor share_V = counts_V / counts_V.sum().clamp_min(1);
  return at::special_entr(share_V).sum().exp();
}

}  // namespace

Codebook::Codebook(int64_t size, int64_t width, uint64_t seed)
    : size_(size), width_(width), seed_(seed) {
  register_buffer("inited", inited_);
  register_buffer("cluster_size", cluster_size_V_);
  register_buffer("embed", embed_VD_);
  register_buffer("embed_avg", embed_avg_VD_);
  Codebook::reset_buffers();
}

Codebook::~Codebook() = default;

void Codebook::reset_buffers() {
  inited_ = at::ones({1}, at::kFloat);
  cluster_size_V_ = at::zeros({size_}, at::kFloat);
  embed_VD_ = normal({size_, width_}, seed_);
  embed_avg_VD_ = at::zeros({size_, width_}, at::kFloat);
}

at::Tensor Codebook::statistics(const at::Tensor& latents_ND, const at::Tensor& code_N,
                                const at::Tensor& weight_N) const {
  const at::Tensor counts_V = cluster_size_V_.new_zeros({size_}).index_add(0, code_N, weight_N);
  const at::Tensor sums_VD =
      embed_VD_.new_zeros({size_, width_}).index_add(0, code_N, latents_ND * weight_N.unsqueeze(1));
  const at::Tensor error_N = (latents_ND - at::embedding(embed_VD_, code_N)).square().sum(1);
  return at::cat({counts_V, sums_VD.flatten(), (error_N * weight_N).sum().view({1})});
}

at::Tensor Codebook::counts_of(const at::Tensor& statistics) const {
  return statistics.narrow(0, 0, size_);
}

Codebook::Averages Codebook::with_dead_replaced(const Averages& moved, const at::Tensor& spread,
                                                const at::Tensor& noise_VD,
                                                double dead_code_share) const {
  const at::Tensor& size_V = moved.size_V;
  const at::Tensor limit = size_V.mean() * dead_code_share;
  const at::Tensor is_dead_V = size_V.lt(limit);
  // The n-th dead code looks at the n-th most frequent code.
  const at::Tensor place_V = (is_dead_V.to(at::kLong).cumsum(0) - 1).clamp_min(0);
  const at::Tensor from_V =
      size_V.argsort(/*stable=*/true, 0, /*descending=*/true).index_select(0, place_V);
  const at::Tensor halves_V = is_dead_V & size_V.index_select(0, from_V).ge(2 * limit);
  const at::Tensor gives_V = at::zeros_like(size_V).scatter_add(0, from_V, halves_V.to(at::kFloat));
  const at::Tensor left_V = 1 - gives_V / 2;
  const at::Tensor entry_VD = moved.sum_VD / size_V.clamp_min(kNothing).unsqueeze(1);
  const at::Tensor half_V = size_V.index_select(0, from_V) / 2;
  const at::Tensor beside_VD = entry_VD.index_select(0, from_V) + noise_VD * spread;
  const at::Tensor is_new_V1 = halves_V.unsqueeze(1);
  return {
      at::where(halves_V, half_V, size_V * left_V),
      at::where(is_new_V1, beside_VD * half_V.unsqueeze(1), moved.sum_VD * left_V.unsqueeze(1))};
}

void Codebook::move(const at::Tensor& statistics, const at::Tensor& noise_VD,
                    const CodecOptions& options) {
  const at::Tensor counts_V = counts_of(statistics);
  const at::Tensor sums_VD = statistics.narrow(0, size_, size_ * width_).view({size_, width_});
  const at::Tensor count = counts_V.sum();
  const at::Tensor has_latents = count.gt(0);
  const double decay = options.codebook_decay;
  const Averages moved = {cluster_size_V_ * decay + counts_V * (1 - decay),
                          embed_avg_VD_ * decay + sums_VD * (1 - decay)};
  // The standard deviation of latents around their entries, in one direction.
  const at::Tensor error = statistics.select(0, statistics.numel() - 1);
  const at::Tensor spread = (error / (count * width_).clamp_min(1)).sqrt();
  const Averages next = with_dead_replaced(moved, spread / std::sqrt(static_cast<double>(width_)),
                                           noise_VD, options.dead_code_share);
  const at::Tensor size_V1 = next.size_V.unsqueeze(1);
  const at::Tensor entries_VD =
      at::where(size_V1.gt(kNothing), next.sum_VD / size_V1.clamp_min(kNothing), embed_VD_);
  embed_VD_.copy_(at::where(has_latents, entries_VD, embed_VD_));
  cluster_size_V_.copy_(at::where(has_latents, next.size_V, cluster_size_V_));
  embed_avg_VD_.copy_(at::where(has_latents, next.sum_VD, embed_avg_VD_));
}

ResidualBooks::ResidualBooks(const CodecOptions& options) : options_(options) {
  for (int64_t k = 0; k < options.num_codebooks; ++k) {
    books_.push_back(std::make_unique<Codebook>(options.entries(), options.hidden_size,
                                                static_cast<uint64_t>(k)));
    register_block("layers." + std::to_string(k) + ".codebook", *books_.back());
  }
  register_buffer("pending", pending_KM_);
  register_buffer("noise", noise_VD_, /*persistent=*/false);
  ResidualBooks::reset_buffers();
}

ResidualBooks::~ResidualBooks() = default;

void ResidualBooks::reset_buffers() {
  const auto books = static_cast<int64_t>(books_.size());
  pending_KM_ = at::zeros({books, books_.front()->num_statistics()}, at::kFloat);
  noise_VD_ = normal({options_.entries(), options_.hidden_size}, uint64_t{1} << 32U);
}

void ResidualBooks::begin_step(int64_t step) {
  if (step == step_) return;
  step_ = step;
  const at::NoGradGuard no_grad;
  for (size_t k = 0; k < books_.size(); ++k) {
    books_[k]->move(pending_KM_.select(0, static_cast<int64_t>(k)), noise_VD_, options_);
  }
  pending_KM_.zero_();
}

std::vector<at::Tensor> ResidualBooks::entries(int64_t books) const {
  std::vector<at::Tensor> entries;
  for (int64_t k = 0; k < books; ++k) {
    entries.push_back(books_[static_cast<size_t>(k)]->entries_VD());
  }
  return entries;
}

Quantized ResidualBooks::pass(const at::Tensor& latents_BDT, const at::Tensor& books_B,
                              std::vector<at::Tensor>* statistics) const {
  const at::Tensor x_BTD = latents_BDT.transpose(1, 2).to(at::kFloat);
  const int64_t rows = x_BTD.size(0), frames = x_BTD.size(1), width = x_BTD.size(2);
  at::Tensor rest_BTD = x_BTD, sum_BTD = at::zeros_like(x_BTD).detach();
  at::Tensor commit_B = x_BTD.new_zeros({rows}), perplexity = x_BTD.new_zeros({});
  for (size_t k = 0; k < books_.size(); ++k) {
    const Codebook& book = *books_[k];
    const at::Tensor uses_B = books_B.gt(static_cast<int64_t>(k)).to(at::kFloat);
    const at::Tensor rest_ND = rest_BTD.detach().reshape({-1, width});
    const at::Tensor code_N =
        nearest_entry(rest_ND, book.entries_VD(), EntryDistance::kProductFirst);
    const at::Tensor entry_BTD = at::embedding(book.entries_VD(), code_N).view_as(x_BTD);
    const at::Tensor own =
        book.statistics(rest_ND, code_N, uses_B.unsqueeze(1).expand({rows, frames}).reshape({-1}));
    perplexity = perplexity + perplexity_of(book.counts_of(own));
    if (statistics != nullptr) statistics->push_back(own);
    commit_B = commit_B + uses_B * (rest_BTD - entry_BTD).square().mean({1, 2});
    sum_BTD = sum_BTD + entry_BTD * uses_B.view({-1, 1, 1});
    rest_BTD = rest_BTD - entry_BTD;
  }
  const at::Tensor through_BTD = x_BTD + (sum_BTD - x_BTD).detach();
  return {through_BTD.transpose(1, 2), commit_B / books_B,
          perplexity / static_cast<double>(books_.size())};
}

Quantized ResidualBooks::quantize(const at::Tensor& latents_BDT, const at::Tensor& books_B) const {
  return pass(latents_BDT, books_B, nullptr);
}

Quantized ResidualBooks::learn(const at::Tensor& latents_BDT, const at::Tensor& books_B,
                               const SumOverRanks& sum) {
  std::vector<at::Tensor> own;
  Quantized out = pass(latents_BDT, books_B, &own);
  const at::NoGradGuard no_grad;
  at::Tensor all_KM = at::stack(own);
  if (sum) all_KM = sum(all_KM.flatten().to(at::kDouble)).view_as(all_KM);
  const at::Tensor are_finite = all_KM.isfinite().all();
  pending_KM_.add_(at::where(are_finite, all_KM.to(at::kFloat), at::zeros_like(pending_KM_)));
  return out;
}

at::Tensor ResidualBooks::encode(const at::Tensor& latents_BDT) const {
  return residual_codes(latents_BDT.transpose(1, 2), entries(options_.num_codebooks),
                        EntryDistance::kProductFirst)
      .transpose(1, 2);
}

at::Tensor ResidualBooks::decode(const at::Tensor& codes_BKT) const {
  const std::vector<at::Tensor> books = entries(codes_BKT.size(1));
  if (codes_BKT.size(2) == 0) {
    return at::zeros({codes_BKT.size(0), options_.hidden_size, 0}, books.front().options());
  }
  return sum_of_entries(codes_BKT.transpose(1, 2), books).transpose(1, 2);
}

namespace {

/// Rows use all groups: none of them is for what another left.
class ScalarBooks final : public Quantizer {
 public:
  explicit ScalarBooks(const CodecOptions& options)
      : groups_(options.num_codebooks, options.levels) {}

  Quantized quantize(const at::Tensor& latents_BDT, const at::Tensor&) const override {
    const at::Tensor codes_BKT = groups_.encode(latents_BDT.detach());
    at::Tensor perplexity = latents_BDT.new_zeros({});
    for (int64_t k = 0; k < groups_.num_groups(); ++k) {
      const at::Tensor code_N = codes_BKT.select(1, k).flatten();
      const at::Tensor ones_N = at::ones(code_N.sizes(), latents_BDT.options());
      const at::Tensor none_V = latents_BDT.new_zeros({groups_.codebook_size()});
      perplexity = perplexity + perplexity_of(none_V.index_add(0, code_N, ones_N));
    }
    return {
        groups_.quantize(latents_BDT), {}, perplexity / static_cast<double>(groups_.num_groups())};
  }
  at::Tensor encode(const at::Tensor& latents_BDT) const override {
    return groups_.encode(latents_BDT);
  }
  at::Tensor decode(const at::Tensor& codes_BKT) const override {
    return groups_.decode(codes_BKT);
  }

 private:
  ScalarGroups groups_;
};

}  // namespace

Quantizer::~Quantizer() = default;

std::unique_ptr<Quantizer> make_quantizer(const CodecOptions& options) {
  if (options.is_scalar()) return std::make_unique<ScalarBooks>(options);
  return std::make_unique<ResidualBooks>(options);
}

}  // namespace s2s::codec
