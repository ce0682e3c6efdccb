#include "train/step_runner.h"

#include <ATen/ATen.h>
#include <ATen/Context.h>
#include <ATen/core/grad_mode.h>

#include <set>

#include "base/fnv.h"
#include "train/loss_sums.h"
#include "train/train_errors.h"

namespace s2s {
namespace {

/// The sums of 32 bits of two million ids are exact in a double, in which ranks add them up.
int64_t hash_of_id(const std::string& id) { return static_cast<int64_t>(fnv1a(id) & 0xffffffffU); }

/// Source: SplitMix64 (Steele, Lea, Flood 2014), one step.
uint64_t mixed(uint64_t x) {
  x += 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27U)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31U);
}

/// Forwards and backwards as the trainer wants them: random numbers, autocast, loss scale, phases.
class TrainerPasses : public MicroBatchPasses {
 public:
  TrainerPasses(const TrainerSettings& settings, const LossScale& scale, RunEvents& events,
                MicroBatchPosition first, const StepContext& context)
      : settings_(settings), scale_(scale), events_(events), first_(first), context_(context) {}

  at::Tensor forward(int64_t index, const Forward& forward) override {
    if (index > 0) events_.begin_phase(context_.step, TrainingPhase::kForward);
    MicroBatchPosition position = first_;
    position.index = index;
    seed_generators(settings_.seed, position);
    const AutocastScope autocast(settings_.precision, settings_.device.type());
    const LossTerms loss = forward(context_);
    if (!loss.total.defined()) return loss.total;
    losses.add(loss);
    return scale_.is_on() ? loss.total * scale_.value() : loss.total;
  }
  void backward(const at::Tensor& output, const at::Tensor& gradient) override {
    events_.begin_phase(context_.step, TrainingPhase::kBackward);
    output.backward(gradient);
  }

  LossSums losses;

 private:
  const TrainerSettings& settings_;
  const LossScale& scale_;
  RunEvents& events_;
  MicroBatchPosition first_;
  StepContext context_;
};

}  // namespace

void seed_generators(uint64_t seed, const MicroBatchPosition& position) {
  at::manual_seed(mixed(mixed(seed) ^ static_cast<uint64_t>(position.number())));
}

void check_update_in_backward(const TrainerSettings& settings) {
  if (!settings.update_in_backward) return;
  if (settings.max_grad_norm > 0) throw_no_update_in_backward("gradients are clipped");
  if (settings.accumulate > 1) throw_no_update_in_backward("gradients are accumulated");
  if (settings.keeps_average) throw_no_update_in_backward("exp_manager.ema is enabled");
  if (settings.precision.scales_loss()) throw_no_update_in_backward("losses are scaled");
}

StepRunner::StepRunner(const TrainerSettings& settings, const TrainerParts& parts,
                       RunEvents& events, BadStepKeeper& bad_steps)
    : settings_(settings),
      parts_(parts),
      events_(events),
      bad_steps_(bad_steps),
      loss_scale_(settings.precision.scales_loss(), settings.device),
      update_(*parts.model, *parts.strategy, *parts.optimizer, settings.max_grad_norm),
      copies_(settings.device) {
  if (settings.update_in_backward) update_in_backward();
}

void StepRunner::update_in_backward() {
  check_update_in_backward(settings_);
  std::set<const at::Tensor*> own;
  for (const NamedTensor& parameter : parts_.model->named_parameters())
    own.insert(parameter.tensor);
  const std::vector<NamedTensor> trained = parts_.strategy->optimizer_parameters(*parts_.model);
  for (const NamedTensor& parameter : trained) {
    if (!own.contains(parameter.tensor) || parts_.strategy->mesh().world_size() > 1) {
      throw_no_update_in_backward("the strategy has gradients of its own");
    }
  }
  backward_update_ = std::make_unique<BackwardUpdate>(trained, *parts_.optimizer);
}

QueuedStep StepRunner::queue(int64_t step, const std::function<RankWishes()>& own) {
  QueuedStep queued;
  StepReport& report = queued.report;
  report.step = step;
  events_.begin_phase(step, TrainingPhase::kData);
  queued.start_s = now_s();
  if (bad_steps_.keeps_steps()) queued.data_state = parts_.data->state();
  const std::vector<Batch> batches = next_batches(queued);
  if (bad_steps_.keeps_steps()) queued.batches = batches;
  events_.tell(&RunObserver::on_batch, step, queued.batch_ids);
  events_.begin_phase(step, TrainingPhase::kForward);
  parts_.model->train(true);
  parts_.strategy->begin_step(*parts_.model);
  const bool has_data = static_cast<int64_t>(batches.size()) == settings_.accumulate;
  const StepFrames all = agree_on_frames(*parts_.strategy, report.loss_frames, has_data);
  queued.has_data = all.has_data;
  if (!all.has_data) return queued;
  report.learning_rate =
      parts_.schedule->learning_rate(step, parts_.optimizer->base_learning_rate());
  if (backward_update_) backward_update_->begin(report.learning_rate);
  queued.frames = settings_.replay ? settings_.replay->frames : all.frames;
  const LossSums losses = accumulate_gradients(batches, queued);
  events_.begin_phase(step, TrainingPhase::kUpdate);
  queued.sums = sum_over_data(*parts_.strategy, report, losses, own());
  update(queued);
  report.device_memory = take_device_memory(settings_.device);
  report.peak_flops = settings_.peak_flops;
  queued.marks = events_.clock().take();
  return queued;
}

std::vector<Batch> StepRunner::next_batches(QueuedStep& step) {
  StepReport& report = step.report;
  std::vector<Batch> batches;
  for (int64_t i = 0; i < settings_.accumulate; ++i) {
    if (i > 0) events_.begin_phase(report.step, TrainingPhase::kData);
    const double start_s = now_s();
    std::optional<Batch> batch = parts_.data->next();
    report.data_wait_s += now_s() - start_s;
    if (!batch) break;
    const BatchWeight weight = parts_.model->weigh(*batch);  // reads lengths: still on the host
    report.frames += weight.frames;
    report.loss_frames += weight.normalizer();
    report.padded_frames += weight.padded_frames;
    report.tokens += weight.tokens;
    report.batch_size += batch->size();
    report.audio_s += weight.audio_s;
    report.model_flops += weight.model_flops;
    report.encoder_flops += weight.encoder_flops;
    for (const std::string& id : batch->ids) {
      step.batch_ids += id + "\n";
      report.batch_hash += hash_of_id(id);
    }
    events_.begin_phase(report.step, TrainingPhase::kToDevice);
    batches.push_back(on_device(*batch));
  }
  report.left_out_cuts = static_cast<int64_t>(parts_.data->left_out().size());
  return batches;
}

/// Copied while the device computes the step before.
Batch StepRunner::on_device(const Batch& batch) const {
  Batch copy;
  const StreamMark copied = copies_.run_ahead(
      [&] { copy = batch.to(settings_.device, /*non_blocking=*/!settings_.device.is_cpu()); });
  copies_.wait_for(copied);
  copy.for_each([&](const at::Tensor& tensor) { copies_.hand_over(tensor); });
  return copy;
}

LossSums StepRunner::accumulate_gradients(const std::vector<Batch>& batches,
                                          const QueuedStep& step) {
  const ReplayedRank rank = settings_.replay.value_or(
      ReplayedRank{parts_.strategy->data_rank(), parts_.strategy->mesh().data_size(), step.frames});
  const int64_t number = step.report.step;
  StepContext context{number, step.frames, settings_.accumulate * rank.data_size};
  if (parts_.strategy->mesh().data_size() > 1) {
    context.sum_over_data = [this](const at::Tensor& numbers) {
      return parts_.strategy->reduce_over_data(numbers).to(numbers.device());
    };
  }
  TrainerPasses passes(settings_, loss_scale_, events_,
                       {number, 0, settings_.accumulate, rank.data_rank, rank.data_size}, context);
  parts_.strategy->run_micro_batches(*parts_.model, batches, passes);
  return std::move(passes.losses);
}

/// Updates the parameters, and gathers all numbers of the step.
void StepRunner::update(QueuedStep& step) {
  const at::NoGradGuard no_grad;
  const at::Tensor hold = bad_steps_.look_before_update(step);
  const at::Tensor scale = loss_scale_.is_on() ? loss_scale_.value().clone() : at::Tensor();
  const UpdateNumbers update = backward_update_
                                   ? backward_update_->end()
                                   : update_.run(step.report.learning_rate, scale, hold);
  if (backward_update_) parts_.strategy->after_update(*parts_.model);
  loss_scale_.update(update.found_inf);
  // Before the mark that the numbers wait for.
  events_.begin_phase(step.report.step, TrainingPhase::kReport);
  std::vector<at::Tensor> numbers = {step.sums.numbers};
  for (const at::Tensor& number : {update.grad_norm, scale}) {
    if (!number.defined()) continue;
    numbers.push_back(
        number.to(step.sums.numbers.device(), at::kDouble, /*non_blocking=*/true).view({1}));
  }
  step.numbers = LateNumbers(at::cat(numbers));
}

}  // namespace s2s
