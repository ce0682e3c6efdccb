// Losses and logits of heads of several vocabularies that ranks share.

#include <doctest/doctest.h>

#include "parallel/tensor_run.h"

using namespace s2s;
using namespace s2s::test;

namespace {

constexpr double kHeadTolerance = 1e-5;
constexpr int64_t kHidden = 6;

/// What a speech model does with hidden states: K codebooks of V codes each.
class SpeechHead : public BlockOf<> {
 public:
  SpeechHead(int64_t groups, int64_t size)
      : audio_head(kHidden, groups * size), input(kHidden, kHidden) {
    register_block("input", input);
    register_block("audio_head", audio_head);
  }
  ~SpeechHead() override = default;
  Linear audio_head, input;
  static ShardPlan plan(int64_t groups) {
    ShardPlan plan;
    plan.rows = {{"input", Style::kReplicate}, {"audio_head", Style::kVocab}};
    plan.rows.back().out = Layout::kLast;
    plan.heads = {{"audio_head", groups}};
    return plan;
  }

 protected:
  at::Tensor forward(const at::Tensor& x) override { return input(x); }
};

std::unique_ptr<SpeechHead> make_head(int64_t groups, int64_t size) {
  auto head = std::make_unique<SpeechHead>(groups, size);
  head->materialize(at::kCPU, at::kFloat, 1);
  scatter_values(*head);
  return head;
}

struct Question {
  at::Tensor x_NH, labels_NK, weights_NK;
  int64_t groups;
};

Question make_question(int64_t rows, int64_t groups, int64_t size) {
  at::manual_seed(3);
  return {at::randn({rows, kHidden}), at::randint(size, {rows, groups}, at::kLong),
          at::rand({rows, groups}), groups};
}

struct Answer {
  at::Tensor loss, loss_NK, predicted_NK, logits, quiet_loss;
};

Answer answer(SpeechHead& head, const Question& question) {
  const at::Tensor x = head(question.x_NH);
  Answer out;
  out.loss =
      linear_cross_entropy(x, head.audio_head.head(), question.labels_NK, question.weights_NK);
  (out.loss * 0.5).backward();
  const at::NoGradGuard no_grad;
  out.quiet_loss = linear_cross_entropy(x, head.audio_head.head(), question.labels_NK);
  const CrossEntropyRows rows =
      linear_cross_entropy_rows(x, head.audio_head.head(), question.labels_NK);
  out.loss_NK = rows.loss_NK;
  out.predicted_NK = rows.predicted_NK;
  out.logits = head_logits(x.view({-1, 1, kHidden}), head.audio_head.head(), question.groups);
  return out;
}

/// `prepare`: changes each model, the whole one, too, before it is split.
void check_head(
    int64_t ranks, int64_t size, const Question& question,
    const std::function<void(SpeechHead&)>& prepare = [](SpeechHead&) {}) {
  const auto whole = make_head(question.groups, size);
  prepare(*whole);
  const Answer expected = answer(*whole, question);
  const Gradients gradients = gradients_of(*whole);
  std::vector<CollectiveLog> logs(static_cast<size_t>(ranks));
  Differences differences;
  const auto errors = run_thread_ranks(ranks, [&](Communicator& world) {
    world.set_observer(&logs[static_cast<size_t>(world.rank())]);
    const MeshGroups mesh(world, tensor_mesh(ranks, true));
    const auto head = make_head(question.groups, size);
    prepare(*head);
    const SplitDoors hooks(*head, SpeechHead::plan(question.groups), mesh);
    const Answer own = answer(*head, question);
    differences.add("loss", relative_difference(own.loss, expected.loss));
    differences.add("loss without gradients",
                    relative_difference(own.quiet_loss, expected.quiet_loss));
    differences.add("loss of rows", relative_difference(own.loss_NK, expected.loss_NK));
    differences.add("predicted", at::equal(own.predicted_NK, expected.predicted_NK) ? 0 : 1);
    differences.add("logits", relative_difference(own.logits, expected.logits));
    const Furthest furthest = compare_gradients(*head, hooks.split(), gradients);
    differences.add("gradient of " + furthest.name, furthest.difference);
  });
  CHECK(errors == std::vector<std::string>(static_cast<size_t>(ranks)));
  differences.check(kHeadTolerance);
  for (const CollectiveLog& log : logs) CHECK(log.lines() == logs[0].lines());
}

}  // namespace

TEST_CASE("codebooks that ranks share give the whole head's loss, gradients and choices") {
  for (const auto& [ranks, groups, size] :
       {std::tuple<int64_t, int64_t, int64_t>{2, 3, 10}, {4, 3, 11}, {4, 2, 5}, {3, 1, 7}}) {
    CAPTURE(ranks);
    CAPTURE(groups);
    CAPTURE(size);
    check_head(ranks, size, make_question(9, groups, size));
  }
}

TEST_CASE("rows are taken in as many chunks on every rank") {
  check_head(4, 100001, make_question(90, 1, 100001));  // 16 or so at a time
}

TEST_CASE("of equal logits the smallest id is chosen, whoever holds it") {
  check_head(4, 9, make_question(4, 2, 9), [](SpeechHead& head) {
    const at::NoGradGuard no_grad;
    head.audio_head.weight.zero_();
    head.audio_head.bias.zero_();
  });
}

TEST_CASE("a frozen head sends its input's gradient alone, and frozen inputs nothing") {
  const auto freeze = [](bool freeze_input) {
    return [freeze_input](SpeechHead& head) {
      (freeze_input ? head.input : head.audio_head).set_requires_grad(false);
    };
  };
  check_head(2, 10, make_question(5, 2, 10), freeze(false));
  check_head(2, 10, make_question(5, 2, 10), freeze(true));
}

TEST_CASE("a label that is no id of the vocabulary is refused") {
  const Question question = make_question(5, 2, 10);
  question.labels_NK[3][1] = 10;
  const auto errors = run_thread_ranks(2, [&](Communicator& world) {
    const MeshGroups mesh(world, tensor_mesh(2, true));
    const auto head = make_head(2, 10);
    const SplitDoors hooks(*head, SpeechHead::plan(2), mesh);
    CHECK_THROWS_WITH(answer(*head, question), doctest::Contains("not an id of its vocabulary"));
  });
  CHECK(errors == std::vector<std::string>(2));
}
