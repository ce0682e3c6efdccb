// The duplex speech-to-text model under sharded and tensor layouts, against one process and against
// the whole model.

#include <doctest/doctest.h>

#include "common/capabilities.h"
#include "parallel/equality.h"
#include "parallel/tensor_run.h"
#include "parallel/trained_duplex.h"
#include "plugins/duplex_stt/stt_fixture.h"

using namespace s2s;
using namespace s2s::test;

namespace {

TrainedModel duplex_stt(const std::string& name, bool is_tied, const std::string& keys) {
  TrainedModel trained;
  trained.name = name;
  const std::string json = stt_json(keys, is_tied);
  trained.make = [json](const Registries& registries) {
    static const Config kDataBlock = parse_json(kData, "data");
    ModelContext context;
    context.path = "model";
    context.data = &kDataBlock;
    context.tokenizer = &table_tokenizer();
    auto model = registries.create<Model>(parse_json(json, "model"), context);
    model->materialize(at::kCPU, at::kFloat, 3);
    return model;
  };
  for (int64_t i = 0; i < 4 * 3 * kLayoutSteps; ++i) {
    trained.batches.push_back(make_batch({6 + i % 3, 5 + i % 2}, static_cast<uint64_t>(i + 1)));
  }
  return trained;
}

/// Replaces batches of audio by text: of each `period` of batches the second half.
void mix_in_text(TrainedModel& trained, size_t period) {
  for (size_t i = 0; i < trained.batches.size(); ++i) {
    if (i % period < period / 2) continue;
    Batch text = text_batch();
    text.text_BT = (text.text_BT + static_cast<int64_t>(i % 5)).clamp_max(199);
    text.text_labels_BT = at::where(text.text_labels_BT.lt(0), -100, text.text_BT);
    trained.batches[i] = text;
  }
}

/// Gives every batch text beside its audio.
void add_text(TrainedModel& trained) {
  for (size_t i = 0; i < trained.batches.size(); ++i) {
    const Batch text = text_batch();
    trained.batches[i].text_BT = (text.text_BT + static_cast<int64_t>(i % 5)).clamp_max(199);
    trained.batches[i].text_labels_BT =
        at::where(text.text_labels_BT.lt(0), -100, trained.batches[i].text_BT);
  }
}

std::vector<RunLayout> layouts() {
  const std::string fsdp = R"("name": "fsdp")", parallel = R"("name": "model_parallel")";
  return {
      layout("fsdp 2", fsdp, 2, 2),
      layout("fsdp 2, recomputed", fsdp + R"(, "activation_checkpointing": "full")", 2, 2, 2),
      layout("tp 2", parallel + R"(, "tensor_parallel_size": 2, "sequence_parallel": false)", 2, 1),
      layout("tp + sp 2", parallel + R"(, "tensor_parallel_size": 2)", 2, 1),
      layout("fsdp 2 x tp 2", parallel + R"(, "tensor_parallel_size": 2)", 4, 2),
  };
}

}  // namespace

TEST_CASE("the duplex speech-to-text model's layouts equal one process") {
  BuiltPlugins plugins;
  plugins.registries().get<Model>("duplex_stt");
  plugins.registries().get<Encoder>("fastconformer");
  const std::string user =
      std::string(kUserText) +
      R"(, "delay_text_channel_by": 1, "token_loss_weight": {"pad": 0.5, "text": 2})";
  check_all({duplex_stt("duplex_stt, user text", true, user)}, layouts(), "duplex_stt");
}

TEST_CASE("runs that mix audio data and text data equal one process") {
  const std::string keys = std::string(kUserText) + R"(, "text_to_text_loss_weight": 0.3)";
  // As the source `audio_and_text` deals them: the ranks of a step get one kind. Periods of 4
  // batches are steps in turns on two ranks, or one step of two micro-batches of each kind.
  TrainedModel in_turns = duplex_stt("duplex_stt, audio and text in turns", true, keys);
  mix_in_text(in_turns, 4);
  // The tensor axis differs by 7e-6 with one thread for operators, by 1.3e-5 with two.
  in_turns.tolerances = 3;
  TrainedModel zipped = duplex_stt("duplex_stt, audio beside text", false, keys);
  add_text(zipped);
  std::vector<RunLayout> few = layouts();
  few.erase(few.begin() + 4);
  check_all({in_turns, zipped}, few, "duplex_stt_mixed");
}

TEST_CASE("the duplex speech-to-text model on tensor ranks answers as on one") {
  SttFixture f;
  const Batch batch = make_batch({14, 9});
  const auto whole = f.model(kForcedTurns);
  const auto answer = [&](Model& model) {
    return speech_of(model).generate(batch.source_audio_BS, batch.source_audio_lens_B, false);
  };
  const Generation expected = answer(*whole);
  whole->train(false);
  const MetricSums sums = whole->evaluate(batch);
  for (const bool split : {true, false}) {
    CAPTURE(split);
    std::vector<std::unique_ptr<Model>> models;
    for (int64_t rank = 0; rank < 2; ++rank) models.push_back(f.model(kForcedTurns));
    Differences differences;
    const auto errors = run_thread_ranks(2, [&, split = split](Communicator& world) {
      const MeshShape shape = tensor_mesh(2, split);
      const MeshGroups mesh(world, shape);
      Model& model = *models[static_cast<size_t>(world.rank())];
      const SplitDoors hooks(model, model.configure_model(shape), mesh);
      differences.add("tokens",
                      answer(model).tokens_text_BT.equal(expected.tokens_text_BT) ? 0 : 1);
      model.train(false);
      for (const auto& [name, sum] : model.evaluate(batch)) {
        differences.add(name, std::abs(sum.first - sums.at(name).first) /
                                  std::max(1.0, std::abs(sums.at(name).first)));
      }
    });
    CHECK(errors == std::vector<std::string>(2));
    differences.check(1e-5);
  }
}
