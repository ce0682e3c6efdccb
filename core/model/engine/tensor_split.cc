#include "engine/tensor_split.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <set>
#include <utility>

#include "s2s/error.h"

namespace s2s {
namespace {

bool moves(const TensorRow& row, Layout in, Layout out) { return row.in == in && row.out == out; }

bool is_open(const TensorRow& row) {
  return row.style == Style::kBoundary && moves(row, Layout::kSeq, Layout::kFull);
}

/// Returns true when a boundary at or above the module completes the gradient of the module's
/// input. The split layer of an adapter counts, too.
bool is_inside_split(const std::string& module, const ShardPlan& plan) {
  for (std::string path = module;;) {
    const bool here = std::any_of(plan.rows.begin(), plan.rows.end(), [&](const TensorRow& row) {
      const bool above = path != module && row.style == Style::kColwise;
      return (above || is_open(row)) && path_matches(row.module, path);
    });
    if (here) return true;
    const size_t dot = path.rfind('.');
    if (dot == std::string::npos) return false;
    path.resize(dot);
  }
}

at::Tensor* direct_parameter(Block& block, const std::string& name) {
  for (const NamedTensor& parameter : block.named_parameters()) {
    if (parameter.name == name) return parameter.tensor;
  }
  return nullptr;
}

}  // namespace

TensorSplit::TensorSplit(Block& model, const ShardPlan& plan, const MeshGroups& mesh)
    : mesh_(mesh) {
  S2S_ASSERT(mesh.shape().tensor > 1, "an axis of one rank splits nothing");
  has_split_positions_ = mesh.shape().sequence_parallel &&
                         std::any_of(plan.rows.begin(), plan.rows.end(), [](const TensorRow& row) {
                           return moves(row, Layout::kFull, Layout::kSeq);
                         });
  std::map<const at::Tensor*, at::Tensor*> members;
  for (const NamedTensor& parameter : model.named_parameters()) {
    members[parameter.tensor] = parameter.tensor;
  }
  const PlannedModel planned = plan_model(model, plan, mesh.shape());
  for (const PlannedParameter& parameter : planned.parameters) {
    S2S_ASSERT(!parameter.rows.empty(), "every parameter has a row");
    if (shares_.count(parameter.tensor) == 0) cut(parameter, *members.at(parameter.tensor), plan);
  }
  prepare_hooks(model, plan);
}

TensorSplit::~TensorSplit() = default;

TensorSplit::LengthScope::LengthScope(TensorSplit& split, int64_t length)
    : split_(split), before_(split.length_), is_other_(before_ != length) {
  split_.length_ = length;
}

TensorSplit::LengthScope::~LengthScope() {
  // The first run of a call sets its own length, and may change it for later calls.
  if (is_other_) split_.length_ = before_;
}

void TensorSplit::cut(const PlannedParameter& parameter, at::Tensor& member,
                      const ShardPlan& plan) {
  const at::NoGradGuard no_grad;
  const Style style = plan.rows[parameter.rows.front()].style;
  const std::string own_name = parameter.name.substr(parameter.name.rfind('.') + 1);
  const int64_t rank = mesh_.tensor().rank(), size = mesh_.tensor().size();
  TensorPlacement share;
  share.sizes = parameter.sizes;
  DimShard part{split_dim(style, own_name), stacked_parts(plan, parameter.module)};
  share.copies = part.dim < 0 ? size : parameter.copies;
  part.part = rank / share.copies;
  part.num_parts = size / share.copies;
  share.is_first_copy = rank % share.copies == 0;
  share.spans = part.spans(parameter.sizes);
  share.part = part;
  share.partial = holders_of_partial(parameter, plan);
  const bool is_trained = member.requires_grad();
  trains_on_split_ = trains_on_split_ || (is_trained && share.partial != nullptr);
  if (part.dim >= 0) member = part.cut(member.detach()).set_requires_grad(is_trained);
  shares_.emplace(parameter.tensor, std::move(share));
}

Communicator* TensorSplit::holders_of_partial(const PlannedParameter& parameter,
                                              const ShardPlan& plan) {
  MeshShape shape = mesh_.shape();
  shape.sequence_parallel = has_split_positions_;
  const int64_t holders = holders_of_partial_gradient(parameter, plan, shape);
  if (holders == 1) return nullptr;
  if (holders == mesh_.tensor().size()) return &mesh_.tensor();
  std::unique_ptr<Communicator>& group = copy_groups_[holders];
  if (!group) {
    std::vector<int64_t> ranks(static_cast<size_t>(holders));
    for (size_t i = 0; i < ranks.size(); ++i) {
      ranks[i] = mesh_.tensor().rank() / holders * holders + static_cast<int64_t>(i);
    }
    group = mesh_.tensor().subgroup(ranks, "tensor_copies");
  }
  return group.get();
}

void TensorSplit::prepare_hooks(Block& model, const ShardPlan& plan) {
  model.for_each_block([&](const std::string& path, Block& block) {
    Hook hook;
    hook.path = path;
    bool has_row = false;
    for (const TensorRow& row : plan.rows) {
      if (!path_matches(row.module, path)) continue;
      has_row = true;
      add_row(hook, row, plan);
      if (row.style == Style::kRowwise) hook.bias = direct_parameter(block, "bias");
      if (row.style != Style::kVocab) continue;
      const at::Tensor* const table = direct_parameter(block, "weight");
      S2S_ASSERT(table != nullptr, "a vocabulary's block has a weight");
      const int64_t groups = stacked_parts(plan, path);
      add_table(hook, block, shares_.at(table).sizes[0] / groups, groups);
      const bool is_head = std::any_of(plan.heads.begin(), plan.heads.end(), [&](const HeadRow& h) {
        return path_matches(h.module, path);
      });
      if (!is_head) hook.vocabulary.reset();
    }
    if (has_row) hooks_.insert_or_assign(&block, std::move(hook));
  });
}

void TensorSplit::add_row(Hook& hook, const TensorRow& row, const ShardPlan& plan) {
  const bool is_sum =
      row.style == Style::kRowwise || (row.style == Style::kVocab && row.out != Layout::kLast);
  const bool is_split =
      row.style == Style::kColwise || (row.style == Style::kVocab && row.out == Layout::kLast);
  if (is_open(row)) hook.entry = Entry::kOpen;
  if (row.style == Style::kBoundary && moves(row, Layout::kFull, Layout::kSeq)) {
    hook.entry = Entry::kClose;
  }
  if (is_split && hook.entry == Entry::kNone && !is_inside_split(hook.path, plan)) {
    hook.entry = Entry::kEnter;
  }
  if (row.style == Style::kVocab && row.out != Layout::kLast) hook.entry = Entry::kLookUp;
  if (is_sum && row.out == Layout::kFull) hook.exit = Exit::kLeave;
  if (is_sum && row.out == Layout::kSeq) hook.exit = Exit::kScatter;
  if (row.style == Style::kSequence && moves(row, Layout::kSeq, Layout::kFull)) {
    hook.exit = Exit::kGather;
  }
}

void TensorSplit::add_table(Hook& hook, Block& block, int64_t num_rows, int64_t groups) {
  Communicator& ranks = mesh_.tensor();
  hook.ids = DimShard{0, groups, ranks.rank(), ranks.size()}.of(num_rows);
  hook.vocabulary = std::make_unique<VocabularySplit>(
      VocabularySplit{&ranks, num_rows, hook.ids.begin, hook.ids.count});
  auto* const embedding = dynamic_cast<Embedding*>(&block);
  if (embedding == nullptr || embedding->padding_idx() < 0) return;
  const int64_t padding = embedding->padding_idx() - hook.ids.begin;
  embedding->set_padding_idx(padding >= 0 && padding < hook.ids.count ? padding : -1);
}

bool TensorSplit::splits_positions(const Block& block) const {
  // Split positions in eval mode, too, when gradients are required that depend on it.
  return has_split_positions_ &&
         (block.is_training() || (trains_on_split_ && at::GradMode::is_enabled()));
}

at::Tensor TensorSplit::exchanged(const Hook& hook, const at::Tensor& x,
                                  const ExchangePair& pair) const {
  return exchange(x, pair, mesh_.tensor(), length_, hook.path);
}

bool TensorSplit::leaves_alone(const Block& block) const {
  const auto found = hooks_.find(&block);
  if (found == hooks_.end()) return true;
  const Hook& hook = found->second;
  return hook.entry == Entry::kNone && hook.exit == Exit::kNone && hook.bias == nullptr;
}

at::Tensor TensorSplit::before(Block& block, const at::Tensor& x) {
  const auto found = hooks_.find(&block);
  if (found == hooks_.end()) return x;
  Hook& hook = found->second;
  if (hook.bias != nullptr && hook.bias->defined()) {
    hook.bias_taken = std::exchange(*hook.bias, at::Tensor());
  }
  switch (hook.entry) {
    case Entry::kNone:
      return x;
    case Entry::kEnter:
      return exchanged(hook, x, kEnterSplit);
    case Entry::kOpen:
      return exchanged(hook, x, length_ > 0 ? kGatherIntoSplit : kEnterSplit);
    case Entry::kClose:
      length_ = splits_positions(block) ? x.size(-2) : 0;
      return length_ > 0 ? exchanged(hook, x, kSlicePositions) : x;
    case Entry::kLookUp:
      return look_up(hook, x);
  }
  return x;
}

at::Tensor TensorSplit::after(Block& block, const at::Tensor& y) {
  const auto found = hooks_.find(&block);
  if (found == hooks_.end()) return y;
  Hook& hook = found->second;
  at::Tensor out = hook.entry == Entry::kLookUp ? looked_up(hook, y) : y;
  if (hook.entry == Entry::kLookUp && hook.exit == Exit::kScatter) {
    length_ = splits_positions(block) ? out.size(-2) : 0;
  }
  if (hook.exit == Exit::kLeave || (hook.exit == Exit::kScatter && length_ == 0)) {
    out = exchanged(hook, out, kLeaveSplit);
  } else if (hook.exit == Exit::kScatter) {
    out = exchanged(hook, out, kScatterFromSplit);
  } else if (hook.exit == Exit::kGather && length_ > 0) {
    out = exchanged(hook, out, kGatherPositions);
  }
  if (!hook.bias_taken.defined()) return out;
  *hook.bias = std::exchange(hook.bias_taken, at::Tensor());
  return out + hook.bias->to(out.scalar_type());
}

at::Tensor TensorSplit::look_up(Hook& hook, const at::Tensor& ids) const {
  hook.elsewhere =
      ids.lt(hook.ids.begin).logical_or_(ids.ge(hook.ids.begin + hook.ids.count)).unsqueeze_(-1);
  // This rank has no rows of the table.
  if (hook.ids.count == 0) return ids.flatten().narrow(0, 0, 0);
  return (ids - hook.ids.begin).clamp_(0, hook.ids.count - 1);
}

at::Tensor TensorSplit::looked_up(Hook& hook, const at::Tensor& rows) const {
  const at::Tensor elsewhere = std::exchange(hook.elsewhere, at::Tensor());
  if (hook.ids.count > 0) return rows.masked_fill(elsewhere, 0);
  std::vector<int64_t> sizes = elsewhere.sizes().vec();
  sizes.back() = rows.size(-1);
  return at::constant_pad_nd(rows, {0, 0, 0, elsewhere.numel()}).view(sizes);
}

const VocabularySplit* TensorSplit::vocabulary_split(const Block& block) const {
  const auto found = hooks_.find(&block);
  return found == hooks_.end() ? nullptr : found->second.vocabulary.get();
}

const TensorPlacement& TensorSplit::share(const at::Tensor* parameter) const {
  const auto found = shares_.find(parameter);
  S2S_ASSERT(found != shares_.end(), "a parameter of the model that was split");
  return found->second;
}

}  // namespace s2s
