#include "train/step_sums.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>

#include "base/fnv.h"
#include "base/text.h"
#include "train/train_errors.h"

namespace s2s {
namespace {

/// Loss terms that share the message with the other values. Further terms need a second message.
/// The message has a fixed length, so that ranks with different names can still exchange it and
/// detect the difference.
constexpr int64_t kPartSlots = 32;

constexpr size_t kShownNames = 512;  // maximum characters of a rank's list of names

/// Checks whether all ranks have the same text. Each rank contributes hash values of its text and
/// their squares, and both are summed over the ranks. The hash values are equal if and only if the
/// mean of the squares equals the square of the mean.
class Digest {
 public:
  static constexpr size_t kSize = 4;
  static void add(const std::string& text, std::vector<double>& numbers) {
    const uint64_t hash = fnv1a(text);
    for (const int shift : {0, 32}) {
      // With 18 bits, the sums of squares over 2^17 ranks are exact in a double.
      const auto number = static_cast<double>((hash >> shift) & 0x3ffff);
      numbers.push_back(number);
      numbers.push_back(number * number);
    }
  }
  static bool is_equal(const double* sums, int64_t num_ranks) {
    const auto size = static_cast<double>(num_ranks);
    return sums[0] * sums[0] == size * sums[1] && sums[2] * sums[2] == size * sums[3];
  }
};

std::vector<int64_t*> counts_of(StepReport& report) {
  return {&report.frames,     &report.padded_frames, &report.tokens,
          &report.batch_size, &report.left_out_cuts, &report.batch_hash};
}

std::vector<double*> amounts_of(StepReport& report) {
  return {&report.audio_s, &report.model_flops, &report.encoder_flops};
}

/// Places in `StepSums::numbers`.
constexpr size_t kOwnLoss = 0;
constexpr size_t kLoss = kOwnLoss + 1;
constexpr size_t kParts = kLoss + 1;
constexpr size_t kWishes = kParts + kPartSlots;
constexpr size_t kCounts = kWishes + 2;
constexpr size_t kAmounts = kCounts + 6;
constexpr size_t kDigest = kAmounts + 3;
constexpr size_t kWaits = kDigest + Digest::kSize;  // one for each data rank

/// What the hosts know, from kWishes on.
at::Tensor host_numbers(const ParallelStrategy& strategy, StepReport report,
                        const std::vector<std::string>& names, RankWishes own) {
  std::vector<double> numbers = {own.stop ? 1.0 : 0.0, own.save ? 1.0 : 0.0};
  for (const int64_t* count : counts_of(report)) numbers.push_back(static_cast<double>(*count));
  for (const double* amount : amounts_of(report)) numbers.push_back(*amount);
  Digest::add(joined(names, ", "), numbers);
  const size_t waits = numbers.size();
  numbers.resize(waits + static_cast<size_t>(strategy.mesh().data_size()), 0);
  numbers[waits + static_cast<size_t>(strategy.data_rank())] = report.data_wait_s;
  return at::tensor(numbers, at::kDouble);
}

at::Tensor on_device(const at::Tensor& numbers, at::Device device) {
  return device.is_cpu() ? numbers : numbers.pin_memory().to(device, /*non_blocking=*/true);
}

std::vector<double> numbers_of(const at::Tensor& tensor) {
  const at::Tensor flat = tensor.detach().to(at::kCPU, at::kDouble).contiguous();
  return {flat.data_ptr<double>(), flat.data_ptr<double>() + flat.numel()};
}

}  // namespace

StepFrames agree_on_frames(ParallelStrategy& strategy, int64_t frames, bool has_data) {
  const std::vector<double> sums =
      strategy.sum_over_data({static_cast<double>(frames), has_data ? 0.0 : 1.0});
  return {sums[0], sums[1] == 0};
}

StepSums sum_over_data(ParallelStrategy& strategy, const StepReport& report, const LossSums& losses,
                       RankWishes own) {
  StepSums sums;
  sums.names = losses.names();
  at::Tensor values = losses.numbers();
  const at::Device device = values.device();
  const int64_t num_rest = std::max<int64_t>(values.numel() - 1 - kPartSlots, 0);
  if (num_rest > 0) sums.rest = values.narrow(0, 1 + kPartSlots, num_rest);
  values = at::constant_pad_nd(values, {0, 1 + kPartSlots - values.numel()});
  const at::Tensor known = on_device(host_numbers(strategy, report, sums.names, own), device);
  const at::Tensor summed = strategy.reduce_over_data(at::cat({values, known}));
  sums.numbers = at::cat({values.narrow(0, 0, 1), summed.to(device, /*non_blocking=*/true)});
  return sums;
}

StepLosses losses_of(const StepSums& sums) {
  const std::vector<double> numbers = numbers_of(sums.numbers.narrow(0, 0, kWishes));
  StepLosses losses{numbers[kOwnLoss], numbers[kLoss], {}};
  for (size_t i = 0; i < sums.names.size(); ++i) {
    // Terms that are not among the sums: a number that is no jump.
    losses.terms[sums.names[i]] = i < kPartSlots ? numbers[kParts + i] : 0;
  }
  return losses;
}

at::Tensor late_loss_of(const StepSums& sums) { return sums.numbers.select(0, kLoss); }

RankWishes read_sums(ParallelStrategy& strategy, const StepSums& sums,
                     const std::vector<double>& numbers, StepReport& report) {
  if (!Digest::is_equal(&numbers[kDigest], strategy.mesh().data_size())) {
    throw_loss_parts_differ(report.step + 1,
                            strategy.gather_texts(joined(sums.names, ", ").substr(0, kShownNames)));
  }
  report.loss += numbers[kLoss];
  std::vector<double> parts(&numbers[kParts], &numbers[kWishes]);
  if (sums.rest.defined()) {
    const std::vector<double> rest = numbers_of(strategy.reduce_over_data(sums.rest));
    parts.insert(parts.end(), rest.begin(), rest.end());
  }
  for (size_t i = 0; i < sums.names.size(); ++i) report.parts[sums.names[i]] += parts[i];
  size_t next = kCounts;
  for (int64_t* count : counts_of(report)) *count = std::llround(numbers[next++]);
  for (double* amount : amounts_of(report)) *amount = numbers[next++];
  const double* const waits = &numbers[kWaits];
  report.data_wait_s = *std::max_element(waits, waits + strategy.mesh().data_size());
  return {numbers[kWishes] > 0, numbers[kWishes + 1] > 0};
}

TrainedBuffers::TrainedBuffers(Block& model, const ParallelStrategy& strategy) {
  if (strategy.mesh().data_size() == 1) return;
  for (const NamedTensor& named : model.named_buffers()) {
    const at::Tensor& buffer = *named.tensor;
    if (!named.persistent || !buffer.defined() || !buffer.is_floating_point()) continue;
    kept_.push_back({named.tensor, buffer.detach().clone()});
  }
}

void TrainedBuffers::average(ParallelStrategy& strategy) {
  if (kept_.empty()) return;
  const at::NoGradGuard no_grad;
  std::vector<double> changed;
  for (const Kept& kept : kept_) changed.push_back(kept.buffer->equal(kept.first) ? 0 : 1);
  changed = strategy.sum_over_data(changed);
  const auto size = static_cast<double>(strategy.mesh().data_size());
  for (size_t i = 0; i < kept_.size(); ++i) {
    if (changed[i] == 0) continue;
    at::Tensor& buffer = *kept_[i].buffer;
    const std::vector<double> sum = strategy.sum_over_data(numbers_of(buffer));
    buffer.copy_(at::tensor(sum, at::kDouble).div_(size).view(buffer.sizes()));
  }
}

}  // namespace s2s
