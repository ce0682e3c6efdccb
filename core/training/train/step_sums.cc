#include "train/step_sums.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>

#include "base/fnv.h"
#include "train/train_errors.h"

namespace s2s {
namespace {

/// Loss terms that share the message with the other values. Further terms need a second message.
constexpr size_t kPartSlots = 32;

constexpr size_t kShownNames = 512;  // maximum characters of a rank's list of names

std::string names_of(const StepReport& report) {
  std::string names;
  for (const auto& [name, value] : report.parts) names += (names.empty() ? "" : ", ") + name;
  return names;
}

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

[[noreturn]] void throw_names_differ(ParallelStrategy& strategy, const StepReport& report) {
  throw_loss_parts_differ(report.step + 1,
                          strategy.gather_texts(names_of(report).substr(0, kShownNames)));
}

/// Sums the values after the first kPartSlots. All ranks must have the same number of them.
std::vector<double> sum_rest(ParallelStrategy& strategy, const std::vector<double>& values) {
  if (values.size() <= kPartSlots) return {};
  return strategy.sum_over_data({values.begin() + kPartSlots, values.end()});
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

RankWishes sum_over_data(ParallelStrategy& strategy, StepReport& report, RankWishes own) {
  int64_t* const counts[] = {&report.frames, &report.padded_frames, &report.tokens,
                             &report.batch_size, &report.left_out_cuts};
  std::vector<double> numbers = {own.stop ? 1.0 : 0.0, own.save ? 1.0 : 0.0, report.loss};
  for (const int64_t* count : counts) numbers.push_back(static_cast<double>(*count));
  const size_t waits = numbers.size();
  const auto num_ranks = static_cast<size_t>(strategy.mesh().data_size());
  numbers.resize(waits + num_ranks, 0);
  numbers[waits + static_cast<size_t>(strategy.data_rank())] = report.data_wait_s;
  const size_t digest = numbers.size();
  Digest::add(names_of(report), numbers);
  std::vector<double> values;
  for (const auto& [name, value] : report.parts) values.push_back(value);
  const size_t first_part = numbers.size();
  // The message has a fixed length, so that ranks with different names can still exchange it and
  // detect the difference.
  for (size_t i = 0; i < kPartSlots; ++i) numbers.push_back(i < values.size() ? values[i] : 0);
  numbers = strategy.sum_over_data(numbers);
  if (!Digest::is_equal(&numbers[digest], strategy.mesh().data_size())) {
    throw_names_differ(strategy, report);
  }
  const std::vector<double> rest = sum_rest(strategy, values);
  size_t next = 2;
  report.loss = numbers[next++];
  for (int64_t* count : counts) *count = std::llround(numbers[next++]);
  for (size_t rank = 0; rank < num_ranks; ++rank) {
    report.data_wait_s = std::max(report.data_wait_s, numbers[waits + rank]);
  }
  next = first_part;
  numbers.insert(numbers.end(), rest.begin(), rest.end());
  for (auto& [name, value] : report.parts) value = numbers[next++];
  return {numbers[0] > 0, numbers[1] > 0};
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
