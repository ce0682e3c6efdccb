// configs/llama_mimi.yaml with the command line that its comment names, and small sizes.

#include <doctest/doctest.h>

#include <cmath>

#include "cli/train/tiny_run.h"
#include "common/places.h"

using namespace s2s::test;

TEST_CASE("a duplex model hears and speaks through Mimi, around a folder of Llama") {
  const TemporaryFolder folder;
  const std::string llama = source_dir() + "/tests/reference/data/nemo_recipe/llm";
  const std::string set = tiny_set().string();
  const std::string mimi =
      "={name: mimi, num_codebooks: 3, num_quantizers: 4, num_filters: 4, hidden_size: 32, "
      "codebook_size: 16, codebook_dim: 8, vector_quantization_hidden_dimension: 8, "
      "upsample_groups: 32, num_hidden_layers: 1, intermediate_size: 32, "
      "num_attention_heads: 2, num_key_value_heads: 2}";
  const Outcome result = run_s2s(
      {"train", source_dir() + "/configs/llama_mimi.yaml", "~model.llm.preset",
       "~model.llm.num_hidden_layers", "model.llm.path=" + llama, "~model.tokenizer.train",
       "model.tokenizer.path=" + llama, "model.tokenizer.pad_id=0", "model.codec" + mimi,
       "model.encoder" + mimi, "~data.synth", "data.train_ds.cuts_path=" + set + "/train.jsonl",
       "data.validation_ds.datasets.dev.cuts_path=" + set + "/dev.jsonl", "trainer.accelerator=cpu",
       "trainer.val_check_interval=3", "trainer.limit_val_batches=1",
       "exp_manager.explicit_log_dir=" + (folder / "run")});
  REQUIRE_MESSAGE(result.exit_code == 0, result.output);
  const auto lines = metrics(folder / "run");
  REQUIRE(lines.size() == 4);
  // Three codebooks and a text of 16 + 3 and 759 entries: about the losses of guessing.
  CHECK(lines[0]["audio_loss"].get<double>() < 2 * std::log(16 + 3));
  CHECK(lines[3].contains("audio_accuracy_2"));
  CHECK(!lines[3].contains("audio_accuracy_3"));
}
