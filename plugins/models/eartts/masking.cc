#include "masking.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

#include <functional>

namespace s2s::eartts {
namespace {

/// Mixes numbers into a seed (the finalizer of splitmix64).
uint64_t mixed(uint64_t seed, uint64_t value) {
  uint64_t z = seed + 0x9E3779B97F4A7C15ULL * (value + 1);
  z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27U)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31U);
}

/// FNV-1a: the same on every machine.
uint64_t hash_of(const std::string& text) {
  uint64_t hash = 0xCBF29CE484222325ULL;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3ULL;
  return hash;
}

enum Stream : uint64_t { kSource, kTarget, kDropout, kBooks, kUncond, kVoice };

/// Numbers of one stream for all rows, [B, width].
at::Tensor uniform(const std::vector<std::string>& ids, int64_t step, Stream stream,
                   int64_t width) {
  std::vector<at::Tensor> rows;
  for (const std::string& id : ids) {
    const uint64_t seed = mixed(mixed(hash_of(id), static_cast<uint64_t>(step)), stream);
    auto generator = at::make_generator<at::CPUGeneratorImpl>(seed);
    // In double, one by one, so that a row's beginning does not depend on its width.
    rows.push_back(at::empty({width}, at::kDouble).uniform_(0, 1, generator));
  }
  return at::stack(rows).to(at::kFloat).clamp_max(1 - 1e-7);
}

at::Tensor first_books(const at::Tensor& counts_BT, int64_t num_books) {
  return at::arange(num_books, counts_BT.options()).lt(counts_BT.unsqueeze(-1));
}

}  // namespace

Draws draw(const TtsOptions& options, const std::vector<std::string>& ids, int64_t width,
           int64_t step, at::Device device) {
  const auto numbers = [&](Stream stream, int64_t count) {
    return uniform(ids, step, stream, count).to(device);
  };
  Draws draws;
  draws.source_BT = numbers(kSource, width);
  if (options.random_target_masking) draws.target_BT = numbers(kTarget, width);
  draws.dropout_BT1 = numbers(kDropout, width).unsqueeze(-1);
  const auto kinds = static_cast<double>(options.num_quantizers + 1);
  draws.books_BT1 = (numbers(kBooks, width) * kinds).floor().to(at::kLong).unsqueeze(-1);
  draws.uncond_B11 = numbers(kUncond, 1).unsqueeze(-1);
  return draws;
}

std::pair<double, double> two_numbers(const std::string& id, int64_t step) {
  const at::Tensor numbers = uniform({id}, step, kVoice, 2)[0];
  return {numbers[0].item<double>(), numbers[1].item<double>()};
}

at::Tensor masking_rate(const at::Tensor& rate, double exponent) {
  return (1 - rate.pow(exponent)).pow(1 / exponent);
}

Masks masks_of(const TtsOptions& options, const Draws& draws) {
  const int64_t books = options.num_quantizers;
  const auto count = static_cast<double>(books);
  const at::Tensor rate_BT = draws.source_BT * options.max_training_rate;
  const at::Tensor hidden_BT =
      (masking_rate(rate_BT, options.exponent) * count).ceil().to(at::kLong);
  Masks masks;
  masks.source = first_books((books - hidden_BT).clamp_min(0), books);
  masks.target = at::ones_like(masks.source);
  if (draws.target_BT.defined()) {
    const at::Tensor target_rate_BT = rate_BT + (1.0 - rate_BT) * draws.target_BT;
    const at::Tensor left_BT =
        (masking_rate(target_rate_BT, options.exponent) * count).floor().to(at::kLong);
    masks.target = first_books((books - left_BT).clamp_min(0), books);
  }
  const at::Tensor kept_BT1 = at::where(draws.dropout_BT1.lt(options.quantizer_dropout),
                                        draws.books_BT1, at::full({}, books, hidden_BT.options()));
  masks.input = first_books(kept_BT1.squeeze(-1), books);
  return masks;
}

at::Tensor masked_codes(const at::Tensor& codes_BTK, const at::Tensor& there, int64_t mask_id) {
  return codes_BTK.masked_fill(there.logical_not(), mask_id);
}

}  // namespace s2s::eartts
