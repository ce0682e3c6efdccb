// `data encode`, and training from the codes that it keeps.

#include <doctest/doctest.h>
#include <signal.h>

#include <algorithm>
#include <fstream>

#include "cli/train/tiny_run.h"
#include "common/places.h"

using namespace s2s::test;
namespace fs = std::filesystem;

namespace {

const Words kMimi = {"~model.codec.sample_rate",
                     "model.codec={name: mimi, sampling_rate: 16000, upsampling_ratios: [8, 8, "
                     "10], hidden_size: 16, num_filters: 2, codebook_size: 32, codebook_dim: 8, "
                     "vector_quantization_hidden_dimension: 8, num_quantizers: 3, upsample_groups: "
                     "16, num_hidden_layers: 1, intermediate_size: 16, num_attention_heads: 2, "
                     "num_key_value_heads: 1, sliding_window: 20}"};

const std::string kOtherOption = "model.codec.sliding_window=9";

Words words_for_encode(const fs::path& out, const Words& more) {
  Words words = {"data",
                 "encode",
                 s2s::test::source_dir() + "/configs/tiny.yaml",
                 out.string(),
                 "tiny.data=" + tiny_set().string(),
                 "data.synth=null",
                 "--shard-size",
                 "4"};
  return with(words, more);
}

std::string encode(const fs::path& out, const Words& more = {}, int exit_code = 0) {
  const Outcome outcome = run_s2s(words_for_encode(out, more));
  REQUIRE_MESSAGE(outcome.exit_code == exit_code, outcome.output);
  return outcome.output;
}

/// The tiny set in Shar without codes, made at its first use.
const fs::path& plain_shar() {
  static const TemporaryFolder folder;
  static const fs::path made = [] {
    const Outcome outcome = run_s2s({"data", "shar", (tiny_set() / "train.jsonl").string(),
                                     (folder.path() / "plain").string(), "--shard-size", "4"});
    REQUIRE_MESSAGE(outcome.exit_code == 0, outcome.output);
    return folder.path() / "plain";
  }();
  return made;
}

Words from_shar(const fs::path& set, const std::string& more = "") {
  return {"data.train_ds={cuts_path: null, shar_path: " + set.string() + more + "}"};
}

const std::string kCodes = ", codes_field: target_codes";

/// A set encoded with the codec that a training from it fits, made at its first use.
const fs::path& encoded() {
  static const TemporaryFolder folder;
  static const fs::path made = [] {
    encode(folder.path() / "set", from_shar(plain_shar()));
    return folder.path() / "set";
  }();
  return made;
}

/// Requires that a training fails with this message.
void check_refused(const fs::path& run, const Words& words, const std::string& id,
                   const std::string& message) {
  const Outcome outcome = run_s2s(tiny_words("train", run, words));
  CHECK(outcome.exit_code != 0);
  CHECK_MESSAGE(outcome.output.find("[" + id + "]") != std::string::npos, outcome.output);
  CHECK_MESSAGE(outcome.output.find(message) != std::string::npos, outcome.output);
}

}  // namespace

TEST_CASE("a run with kept codes is the run without them, bit for bit") {
  const TemporaryFolder folder;
  Words options;
  fs::path set = encoded();
  SUBCASE("mel_fsq") {}
  SUBCASE("mimi") {
    options = kMimi;
    set = folder.path() / "set";
    encode(set, with(kMimi, {"--fields", "recording=flac,target_audio=flac", "--batch-size", "3"}));
  }
  train_tiny(folder.path() / "codec", with(options, from_shar(set)));
  train_tiny(folder.path() / "kept", with(options, from_shar(set, kCodes)));
  CHECK(num_steps_logged(folder.path() / "kept") == 10);
  check_same_run(folder.path() / "kept", folder.path() / "codec");
}

TEST_CASE("validation reads kept codes, and noise in the user's audio leaves them as they are") {
  const TemporaryFolder folder;
  const fs::path noises = folder.path() / "noise.jsonl";
  std::ofstream lines(noises);
  std::ifstream dev(tiny_set() / "dev.jsonl");
  for (std::string line; std::getline(dev, line);) {
    auto cut = nlohmann::ordered_json::parse(line);
    cut.erase("custom");  // the agent's audio would be mixed, too
    cut["supervisions"] = nlohmann::ordered_json::array();
    cut["recording"]["sources"][0]["source"] =
        (tiny_set() / cut["recording"]["sources"][0]["source"].get<std::string>()).string();
    lines << cut.dump() << "\n";
  }
  lines.close();
  const std::string noise =
      ", noise_path: " + noises.string() + ", noise_mix_prob: 1, num_workers: 0";
  const Words val = {"data.validation_ds.datasets.dev={cuts_path: null, shar_path: " +
                     encoded().string() + ", codes_field: target_codes}"};
  train_tiny(folder.path() / "codec", with(val, from_shar(encoded(), noise)));
  train_tiny(folder.path() / "kept", with(val, from_shar(encoded(), noise + kCodes)));
  check_same_run(folder.path() / "kept", folder.path() / "codec");
}

TEST_CASE("codes that are not the run's are refused with one message") {
  const TemporaryFolder folder;
  const fs::path run = folder.path() / "run";
  check_refused(run, from_shar(plain_shar(), kCodes), "data/kept-codes", "is missing");
  check_refused(run, from_shar(encoded(), kCodes + ", truncate_duration: 2"), "data/options",
                "codes_field cannot be combined with truncate_duration");
  check_refused(run, from_shar(encoded(), kCodes + ", concatenate: {max_duration: 10.24}"),
                "data/options", "codes_field cannot be combined with concatenate");
  check_refused(run, with(from_shar(encoded(), kCodes), {"data.early_interruption_prob=0.5"}),
                "data/early-interruption", "early_interruption_prob");
  // The fit of another set gives other statistics.
  const fs::path dev = folder.path() / "dev";
  encode(dev, {"data.train_ds.cuts_path=" + (tiny_set() / "dev.jsonl").string()});
  check_refused(run, from_shar(dev, kCodes), "data/kept-codes-codec", "are of another codec");
  const fs::path mimi = folder.path() / "mimi";
  encode(mimi, kMimi);
  check_refused(run, with(kMimi, with(from_shar(mimi, kCodes), {kOtherOption})),
                "data/kept-codes-codec", "are of another codec");
}

TEST_CASE("data encode does not remove what it reads") {
  const TemporaryFolder folder;
  const fs::path set = folder.path() / "set";
  encode(set, with(kMimi, {"--source", (tiny_set() / "dev.jsonl").string()}));
  const auto before = contents(set);
  const std::string said =
      encode(set, with(kMimi, with(from_shar(set), {"--force"})), /*exit_code=*/5);
  CHECK_MESSAGE(said.find("is the source, and --force would remove it") != std::string::npos, said);
  CHECK((contents(set) == before));
}

TEST_CASE("data encode goes on after ^C, and processes share the shards") {
  const TemporaryFolder folder;
  const fs::path whole = folder.path() / "whole", parts = folder.path() / "parts";
  encode(whole, kMimi);
  const Words slow = with(kMimi, {"--batch-size", "1", "--num-jobs", "1"});
  Process process(words_for_encode(parts, slow));
  CHECK(wait_until(process, [&] { return fs::exists(parts / "cuts.000000.jsonl.gz"); }));
  process.send(SIGINT);
  const Outcome stopped = process.wait();
  // A fast machine may have finished.
  CHECK_MESSAGE((stopped.exit_code == 8 || stopped.exit_code == 0), stopped.output);
  if (stopped.exit_code == 8) {
    CHECK(fs::exists(parts / ".s2s-shar.json"));
    const Outcome other = run_s2s(words_for_encode(parts, with(kMimi, {kOtherOption})));
    CHECK_MESSAGE(other.exit_code == 5, other.output);
    CHECK_MESSAGE(other.output.find("change: ") != std::string::npos, other.output);
    encode(parts, kMimi);
  }
  CHECK((contents(parts) == contents(whole)));

  const fs::path shared = folder.path() / "shared";
  Process first(words_for_encode(shared, with(kMimi, {"--part", "1/2"})));
  Process second(words_for_encode(shared, with(kMimi, {"--part", "2/2"})));
  const Outcome ends[] = {first.wait(), second.wait()};
  for (const Outcome& end : ends) CHECK_MESSAGE(end.exit_code == 0, end.output);
  CHECK((contents(shared) == contents(whole)));
  // A process of a job array that has nothing to write, and comes last.
  const Outcome late = run_s2s(words_for_encode(shared, with(kMimi, {"--part", "99/99"})));
  CHECK_MESSAGE(late.exit_code == 0, late.output);
  CHECK((contents(shared) == contents(whole)));
}

TEST_CASE("data encode: wrong words are exit code 2, wrong data 5, one message each") {
  const TemporaryFolder folder;
  const fs::path out = folder.path() / "out";
  const auto refuses = [&](const Words& words, int exit_code, const std::string& text) {
    const Outcome outcome = run_s2s(words_for_encode(out, words));
    CHECK_MESSAGE(outcome.exit_code == exit_code, outcome.output);
    CHECK_MESSAGE(outcome.output.find(text) != std::string::npos, outcome.output);
    CHECK_FALSE(fs::exists(out));
  };
  refuses({"--part", "0/2"}, 2, "--part 0/2: expected I/N");
  refuses({"--part", "1/2", "--force"}, 2, "--force with --part");
  refuses({"--set", "none"}, 2, "--set none: the configuration has no such data set");
  refuses({"--fields", "recording=flak"}, 5, "[data/shar-format]");
  refuses(with(kMimi, {"--source", (folder.path() / "none.jsonl").string()}), 5,
          "[data/missing-file]");
  const Outcome none = run_s2s({"data", "encode", (folder.path() / "none.yaml").string(), "out"});
  CHECK(none.exit_code == 3);
  // Cuts without the agent's audio.
  std::ifstream all(tiny_set() / "train.jsonl");
  std::string line;
  std::getline(all, line);
  const size_t at = line.find("target_audio");
  REQUIRE(at != std::string::npos);
  line.replace(at, 6, "tarjet");
  const fs::path silent = folder.path() / "silent.jsonl";
  write_text(silent, line + "\n");
  const Outcome refused =
      run_s2s(words_for_encode(out, with(kMimi, {"--source", silent.string()})));
  CHECK_MESSAGE(refused.exit_code == 5, refused.output);
  CHECK_MESSAGE(refused.output.find("[data/no-target]") != std::string::npos, refused.output);
}
