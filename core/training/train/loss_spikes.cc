#include "train/loss_spikes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace s2s {
namespace {

/// Number of losses whose mean a spike is compared with, and the least number for a judgment.
constexpr size_t kMostLosses = 50, kLeastLosses = 20;

}  // namespace

double LossSpikes::Recent::mean() const {
  return std::accumulate(losses.begin(), losses.end(), 0.0) / static_cast<double>(losses.size());
}

void LossSpikes::Recent::add(double loss) {
  losses.push_back(loss);
  if (losses.size() > kMostLosses) losses.pop_front();
}

bool LossSpikes::is_jump(double loss, const Recent& recent) const {
  if (factor_ <= 0 || recent.losses.size() < kLeastLosses || !std::isfinite(loss)) return false;
  const double mean = recent.mean();
  return mean > 0 && loss > factor_ * mean;
}

bool LossSpikes::has_other_terms(const std::map<std::string, double>& terms) const {
  return !std::equal(terms.begin(), terms.end(), terms_.begin(), terms_.end(),
                     [](const auto& a, const auto& b) { return a.first == b.first; });
}

std::string LossSpikes::judged(double loss, const std::map<std::string, double>& terms) const {
  if (!is_jump(loss, all_) || has_other_terms(terms)) return "";
  const bool has_jump = std::any_of(terms.begin(), terms.end(), [this](const auto& term) {
    return is_jump(term.second, terms_.at(term.first));
  });
  if (!terms.empty() && !has_jump) return "";
  return fmt::format("the loss {:.4g} is {:.3g} times the mean of the {} losses before", loss,
                     loss / all_.mean(), all_.losses.size());
}

void LossSpikes::add(double loss, const std::map<std::string, double>& terms) {
  if (!std::isfinite(loss) || !judged(loss, terms).empty()) return;
  if (is_jump(loss, all_) || has_other_terms(terms)) {  // a new stage
    all_ = {};
    terms_.clear();
  }
  all_.add(loss);
  for (const auto& [name, value] : terms) terms_[name].add(value);
}

}  // namespace s2s
