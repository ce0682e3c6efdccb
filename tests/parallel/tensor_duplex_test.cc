// The duplex model on a tensor axis against the whole model: training, validation, generation.

#include <doctest/doctest.h>

#include "common/capabilities.h"
#include "parallel/tensor_run.h"
#include "plugins/duplex_s2s/duplex_fixture.h"
#include "s2s/kinds/model.h"

using namespace s2s;
using namespace s2s::test;

namespace {

constexpr double kDuplexTolerance = 1e-5;

struct Answers {
  LossTerms losses;
  MetricSums sums;
  Generation generated;
};

Answers answers(Model& model, const Batch& batch) {
  Answers out;
  model.train(true);
  out.losses = model.training_loss(batch, at_step(0));
  out.losses.total.backward();
  model.train(false);
  out.sums = model.evaluate(batch);
  out.generated =
      speech_of(model).generate(batch.source_audio_BS, batch.source_audio_lens_B, false);
  return out;
}

void compare(const Answers& own, const Answers& expected, Differences& differences) {
  differences.add("total", relative_difference(own.losses.total, expected.losses.total));
  for (const auto& [name, loss] : expected.losses.parts) {
    differences.add(name, relative_difference(own.losses.parts.at(name), loss));
  }
  for (const auto& [name, sum] : expected.sums) {
    const auto& [value, count] = own.sums.at(name);
    differences.add("count of " + name, std::abs(count - sum.second));
    differences.add("sum of " + name,
                    std::abs(value - sum.first) / std::max(1.0, std::abs(sum.first)));
  }
  const bool says_the_same =
      at::equal(own.generated.tokens_text_BT, expected.generated.tokens_text_BT) &&
      at::equal(own.generated.tokens_audio_BTK, expected.generated.tokens_audio_BTK);
  differences.add("generated tokens", says_the_same ? 0 : 1);
}

double largest(const Gradients& gradients) {
  double most = 0;
  for (const auto& [name, gradient] : gradients) {
    most = std::max(most, gradient.abs().max().item<double>());
  }
  return most;
}

}  // namespace

namespace {

void compare_on_tensor_ranks(DuplexFixture& fixture, const std::string& keys) {
  const Batch batch = make_batch({14, 9});
  for (const bool is_tied : {false, true}) {
    fixture.is_tied = is_tied;
    for (const auto& [size, split] : {std::pair{2, true}, {2, false}, {4, true}}) {
      CAPTURE(is_tied);
      CAPTURE(size);
      CAPTURE(split);
      const auto whole = fixture.model(keys);
      const Answers expected = answers(*whole, batch);
      const Gradients gradients = gradients_of(*whole);
      std::vector<std::unique_ptr<Model>> models;
      for (int64_t rank = 0; rank < size; ++rank) models.push_back(fixture.model(keys));
      std::vector<CollectiveLog> logs(models.size());
      Differences differences;
      const auto errors =
          run_thread_ranks(size, [&, split = split, size = size](Communicator& world) {
            world.set_observer(&logs[static_cast<size_t>(world.rank())]);
            const MeshShape shape = tensor_mesh(size, split);
            const MeshGroups mesh(world, shape);
            Model& model = *models[static_cast<size_t>(world.rank())];
            const SplitDoors hooks(model, model.configure_model(shape), mesh);
            compare(answers(model, batch), expected, differences);
            // A key's bias changes no score: its gradient is rounding.
            const double least = 1e-3 * largest(gradients);
            const Furthest furthest = compare_gradients(model, hooks.split(), gradients, least);
            differences.add("gradient of " + furthest.name, furthest.difference);
          });
      CHECK(errors == std::vector<std::string>(models.size()));
      differences.check(kDuplexTolerance);
      for (const CollectiveLog& log : logs) CHECK(log.lines() == logs[0].lines());
    }
  }
}

}  // namespace

TEST_CASE("the duplex model on tensor ranks learns, is judged and speaks as on one") {
  DuplexFixture fixture;
  compare_on_tensor_ranks(fixture, kExtras);
}

TEST_CASE("so does the duplex model with a guided speech decoder") {
  DuplexFixture fixture;
  fixture.type = "duplex_s2s_speech_decoder";
  compare_on_tensor_ranks(fixture, std::string(kExtras) + ", " + kSpeechDecoder);
}
