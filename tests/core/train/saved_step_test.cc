#include "train/saved_step.h"

#include <ATen/Functions.h>
#include <doctest/doctest.h>

#include "common/temporary_folder.h"

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
