#include "train/saved_step.h"

#include <ATen/Functions.h>
#include <doctest/doctest.h>

#include <functional>
#include <map>

#include "common/temporary_folder.h"
#include "s2s/error.h"
#include "train/saved_step_check.h"

using namespace s2s;

TEST_CASE("a saved step has every tensor of its batches, those of other model kinds too") {
  SavedStep step;
  step.reason = "the loss is nan";
  step.batches.resize(2);
  step.batches[0].ids = {"speech"};
  step.batches[0].target_texts = {"words"};
  step.batches[0].source_audio_BS = at::rand({1, 8});
  step.batches[0].others["prompt_tokens"] = at::arange(3).view({1, 3});
  step.batches[1].ids = {"text"};
  step.batches[1].target_texts = {""};
  step.batches[1].text_BT = at::arange(4).view({1, 4});
  step.batches[1].text_labels_BT = at::arange(4).view({1, 4}) - 1;
  step.batches[1].documents = {{0, 0, 3}, {0, 3, 1}};
  const test::TemporaryFolder folder;
  write_saved_step(folder / "step.safetensors", step);
  SavedStep read = read_saved_step(folder / "step.safetensors");
  REQUIRE(read.batches.size() == 2);
  for (size_t i = 0; i < 2; ++i) {
    const auto expected = named_tensors(step.batches[i]), found = named_tensors(read.batches[i]);
    REQUIRE(found.size() == expected.size());
    for (size_t k = 0; k < found.size(); ++k) {
      CAPTURE(expected[k].first);
      CHECK(found[k].first == expected[k].first);
      REQUIRE(found[k].second->defined() == expected[k].second->defined());
      if (found[k].second->defined()) CHECK(found[k].second->equal(*expected[k].second));
    }
  }
  CHECK(read.batches[0].documents.empty());
  REQUIRE(read.batches[1].documents.size() == 2);
  CHECK(read.batches[1].documents[1].begin == 3);
}

namespace {

SavedStep good_step() {
  SavedStep step;
  step.batches.resize(1);
  Batch& batch = step.batches[0];
  batch.ids = {"a", "b"};
  batch.source_audio_BS = at::rand({2, 8});
  batch.source_audio_lens_B = at::tensor({8, 5}, at::kLong);
  batch.target_tokens_BT = at::tensor({1, 2, 3, 4, 5, 6}, at::kLong).view({2, 3});
  batch.target_token_lens_B = at::tensor({3, 2}, at::kLong);
  batch.codes_BKT = at::zeros({2, 4, 3}, at::kLong);
  batch.code_lens_B = at::tensor({3, 3}, at::kLong);
  batch.text_BT = at::arange(8).view({2, 4});
  batch.text_labels_BT = at::full({2, 4}, -100, at::kLong);
  batch.documents = {{0, 0, 4}, {1, 1, 3}};
  return step;
}

std::string error_of(SavedStep step) {
  try {
    check_saved_step("f.safetensors", step, 10);
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

}  // namespace

TEST_CASE("the batches of a saved step are checked as a source promises them") {
  CHECK(error_of(good_step()) == "");
  using Damage = std::function<void(SavedStep&, Batch&)>;
  const std::map<std::string, Damage> damages = {
      {"it has no batch", [](SavedStep& step, Batch&) { step.batches.clear(); }},
      {"it has no ids", [](SavedStep&, Batch& batch) { batch.ids.clear(); }},
      {"its step is -1", [](SavedStep& step, Batch&) { step.step = -1; }},
      {"data rank 1 of 1", [](SavedStep& step, Batch&) { step.data_rank = 1; }},
      {"target_tokens_BT contains 256, expected 0 to 9",
       [](SavedStep&, Batch& batch) { batch.target_tokens_BT[0][0] = 256; }},
      {"target_tokens_BT contains -1",
       [](SavedStep&, Batch& batch) { batch.target_tokens_BT[1][2] = -1; }},
      {"target_tokens_BT is Long [6]",
       [](SavedStep&, Batch& batch) { batch.target_tokens_BT = batch.target_tokens_BT.flatten(); }},
      {"target_tokens_BT is Float [2, 3]",
       [](SavedStep&, Batch& batch) {
         batch.target_tokens_BT = batch.target_tokens_BT.to(at::kFloat);
       }},
      {"target_token_lens_B contains 4, expected 0 to 3",
       [](SavedStep&, Batch& batch) { batch.target_token_lens_B[0] = 4; }},
      {"it has no code_lens_B", [](SavedStep&, Batch& batch) { batch.code_lens_B.reset(); }},
      {"codes_BKT is Long [2, 12]",
       [](SavedStep&, Batch& batch) { batch.codes_BKT = batch.codes_BKT.flatten(1); }},
      {"source_audio_BS is Long [2, 8]",
       [](SavedStep&, Batch& batch) {
         batch.source_audio_BS = at::zeros({2, 8}, at::kLong);
       }},
      {"source_audio_lens_B contains 9",
       [](SavedStep&, Batch& batch) { batch.source_audio_lens_B[1] = 9; }},
      {"text_labels_BT contains -101",
       [](SavedStep&, Batch& batch) { batch.text_labels_BT[0][0] = -101; }},
      {"text_labels_BT is Long [2, 3]",
       [](SavedStep&, Batch& batch) {
         batch.text_labels_BT = batch.text_labels_BT.narrow(1, 0, 3);
       }},
      {"a document has row 2", [](SavedStep&, Batch& batch) { batch.documents[0].row = 2; }},
      {"a document has row 1, begin 2",
       [](SavedStep&, Batch& batch) { batch.documents[1].begin = 2; }}};
  for (const auto& [reason, damage] : damages) {
    SavedStep step = good_step();
    damage(step, step.batches[0]);
    const std::string message = error_of(step);
    CAPTURE(message);
    CHECK(message.find("[run/replay] f.safetensors cannot be replayed: ") != std::string::npos);
    CHECK(message.find(reason) != std::string::npos);
  }
}
