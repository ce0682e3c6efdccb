// A duplex speech-to-text model on audio data and text data in one run.

#include <doctest/doctest.h>

#include "cli/train/tiny_run.h"
#include "common/places.h"

using namespace s2s::test;
namespace fs = std::filesystem;
using nlohmann::json;

namespace {

void put_in_place_of(std::string& text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  REQUIRE_MESSAGE(at != std::string::npos, from);
  text.replace(at, from.size(), to);
}

/// configs/tiny.yaml with another model, and with lines of text beside its cuts.
const std::string& mixed_config() {
  static const TemporaryFolder folder;
  static const std::string path = [] {
    std::string yaml = read_text(source_dir() + "/configs/tiny.yaml");
    put_in_place_of(yaml, "type: duplex_s2s", "type: duplex_stt\n  text_to_text_loss_weight: 0.25");
    put_in_place_of(yaml, "  codec: { name: mel_fsq, sample_rate: 16000 }\n", "");
    put_in_place_of(yaml, "  output_roles: [agent]\n",
                    "  output_roles: [agent]\n  agent_audio: false\n");
    put_in_place_of(yaml, R"(    name: cuts
    cuts_path: "${tiny.data}/train.jsonl"
    batch_size: 2
    shuffle: true
    seed: 42
)",
                    R"(    name: audio_and_text
    audio:
      name: cuts
      cuts_path: "${tiny.data}/train.jsonl"
      batch_size: 2
      shuffle: true
    text:
      name: text
      path: TEXT
      packing: none
      batch_size: 3
      shuffle: true
)");
    put_in_place_of(yaml, "TEXT", (folder.path() / "text.jsonl").string());
    std::string lines;
    for (const char* text : {"what is the time", "the light is on", "set a timer", "turn it off",
                             "good morning to you", "play some music", "two and two"}) {
      lines += json{{"text", text}}.dump() + "\n";
    }
    write_text(folder.path() / "text.jsonl", lines);
    write_text(folder.path() / "mixed.yaml", yaml);
    return (folder.path() / "mixed.yaml").string();
  }();
  return path;
}

Words mixed_words(const fs::path& run, const Words& more) {
  const Words words = {"train",
                       mixed_config(),
                       "tiny.data=" + tiny_set().string(),
                       "tiny.run=" + run.string(),
                       "data.synth=null",
                       "trainer.max_steps=8",
                       "exp_manager.checkpoint_callback_params.every_n_train_steps=2",
                       "exp_manager.checkpoint_callback_params.save_top_k=-1"};
  return with(words, more);
}

void succeed(const Words& words) {
  const Outcome outcome = run_s2s(words);
  REQUIRE_MESSAGE(outcome.exit_code == 0, outcome.output);
}

void train_mixed(const fs::path& run, const Words& more) { succeed(mixed_words(run, more)); }

/// The lines of steps that have, or lack, a loss.
int num_steps_with(const fs::path& run, const std::string& key) {
  int count = 0;
  for (const auto& line : metrics(run)) count += line.contains("frames") && line.contains(key);
  return count;
}

}  // namespace

TEST_CASE("audio and text train in one run, which goes on where it was killed") {
  const TemporaryFolder folder;
  for (const std::string fusion : {"zip", "round_robin", "randomized_round_robin"}) {
    CAPTURE(fusion);
    const Words more = {"data.train_ds.sampler_fusion=" + fusion};
    const fs::path whole = folder.path() / fusion, killed = folder.path() / (fusion + "_killed");
    train_mixed(whole, more);
    const bool has_both = fusion == "zip";
    CHECK(num_steps_logged(whole) == 8);
    const int num_text = num_steps_with(whole, "text_to_text_loss");
    CHECK(num_steps_with(whole, "audio_to_text_loss") + num_text == (has_both ? 16 : 8));
    CHECK(num_text >= 1);
    copy_as_killed(whole, killed, 4);
    train_mixed(killed, more);
    check_same_run(killed, whole);
  }
}

TEST_CASE("two ranks train on audio beside text, and validate, as one process does") {
  const TemporaryFolder folder;
  const fs::path one = folder.path() / "one", two = folder.path() / "two";
  // Rows of different lengths on the ranks of a validation.
  const Words more = {"data.train_ds.sampler_fusion=zip", "trainer.val_check_interval=4",
                      "trainer.limit_val_batches=4",      "trainer.limit_val_generate_batches=4",
                      "data.validation_ds.batch_size=1",  "model.predict_user_text=true",
                      "model.answer_metrics=true",        "trainer.max_steps=4"};
  train_mixed(one, with(more, {"trainer.accumulate_grad_batches=2"}));
  succeed(with({"launch", "local", "-n", "2", "--"},
               mixed_words(two, with(more, {"trainer.devices=2", "trainer.strategy.name=fsdp"}))));
  const auto expected = metrics(one), found = metrics(two);
  REQUIRE(found.size() == 5);
  REQUIRE(expected.size() == 5);
  CHECK(expected[4].contains("src_wer"));
  CHECK(expected[4].contains("turn_taking_acc"));
  for (size_t i = 0; i < found.size(); ++i) {
    for (const auto& [key, value] : expected[i].items()) {
      const bool is_result = i == 4 || key.ends_with("loss") || key == "grad_norm";
      if (!is_result || !value.is_number()) continue;
      CAPTURE(i);
      CAPTURE(key);
      CHECK(found[i].at(key).get<double>() == doctest::Approx(value.get<double>()).epsilon(1e-5));
    }
  }
}
