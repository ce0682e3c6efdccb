// tune-batch: trials with real allocations, each in a process of its own.

#include <doctest/doctest.h>

#include <regex>

#include "cli/train/tiny_run.h"
#include "common/contains.h"

using namespace s2s::test;
using nlohmann::json;

namespace {

Outcome tuned(const TemporaryFolder& folder, const Words& more) {
  return run_s2s(with(tiny_words("tune-batch", folder.path() / "run"), more));
}

json result_of(const Outcome& outcome) {
  REQUIRE_MESSAGE(outcome.exit_code == 0, outcome.output);
  return json::parse(outcome.output.substr(outcome.output.find("\n{\n") + 1));
}

}  // namespace

TEST_CASE("the result trains, and one more than the threshold does not") {
  const TemporaryFolder folder;
  const std::string limit = "500MB";
  const json found = result_of(tuned(
      folder, {"--buckets", "[4,8]", "--memory-limit", limit, "--threshold", "0.1", "--json"}));
  CHECK(found["bucket_duration_bins"] == json::array({4.0, 8.0}));
  const int64_t shorter = found["bucket_batch_size"][0], longer = found["bucket_batch_size"][1];
  CHECK(longer >= 1);
  CHECK(shorter > longer);
  CHECK(found["predicted_batch_size"][0] >= found["predicted_batch_size"][1]);
  CHECK(found["peak_bytes"][0] <= 500000000);
  CHECK(found["all_trials"] == found["trials"][0].get<int>() + found["trials"][1].get<int>());
  CHECK(found["all_trials"] <= 14);
  const auto probe = [&](int64_t rows) {
    // The gaps in the heap differ from run to run: the same batch needs up to a sixth more.
    return tuned(folder, {"--memory-limit", "600MB", "--probe", std::to_string(rows) + ",8,0"});
  };
  const Outcome fits = probe(longer);
  CHECK_MESSAGE(fits.exit_code == 0, fits.output);
  CHECK(contains(fits.output, "\"peak_bytes\""));
  CHECK(probe(2 * longer + 2).exit_code != 0);
}

TEST_CASE("NeMo's flags, two dimensions, lines to paste, and outputs that are kept") {
  const TemporaryFolder folder;
  const Words words = tiny_words("tune-batch", folder.path() / "run");
  Words nemo = {"tune-batch", "--config-path", words[1]};
  nemo.insert(nemo.end(), words.begin() + 2, words.end());
  const Outcome outcome = run_s2s(with(nemo, {"--module-name",
                                              "nemo.collections.speechlm2.models.DuplexS2SModel",
                                              "-b",
                                              "[[4,10],[4,20]]",
                                              "-t",
                                              "0.5",
                                              "-s",
                                              "2",
                                              "-f",
                                              "0.5",
                                              "-r",
                                              "12",
                                              "--no-ddp",
                                              "-y",
                                              "float32",
                                              "-d",
                                              "cpu",
                                              "--max-batch-size",
                                              "2",
                                              "--max-probe-retries",
                                              "0",
                                              "--probe-log-dir",
                                              (folder.path() / "logs").string()}));
  REQUIRE_MESSAGE(outcome.exit_code == 0, outcome.output);
  CHECK(contains(outcome.output,
                 "  bucket_duration_bins: [[4,10],[4,20]]\n"
                 "  bucket_batch_size: [2,2]\n"));
  CHECK(contains(outcome.output, "1 trials"));  // both have the same frames
  CHECK_FALSE(std::filesystem::is_empty(folder.path() / "logs"));
}

TEST_CASE("all ranks of a trial run together, with the strategy; buckets come from the data") {
  const TemporaryFolder folder;
  const json found =
      result_of(tuned(folder, {"--nproc-per-node", "2", "trainer.strategy={name: fsdp}",
                               "data.train_ds.num_buckets=2", "--memory-limit", "2GiB",
                               "--max-batch-size", "2", "-s", "2", "--json"}));
  CHECK(found["bucket_batch_size"] == json::array({2, 2}));
  CHECK(found["bucket_duration_bins"][0] < found["bucket_duration_bins"][1]);
}

TEST_CASE(
    "what cannot be tuned is told: no memory for one row, a run that does not train, no CONFIG") {
  const TemporaryFolder folder;
  const Outcome none = tuned(folder, {"--buckets", "[4]", "--memory-limit", "60MB"});
  CHECK(none.exit_code == 1);
  CHECK_MESSAGE(contains(none.output, "[tune/no-batch] one row of 4 s does not fit in 60.0 MB"),
                none.output);
  const Outcome slow = tuned(
      folder, {"--buckets", "[4]", "--probe-timeout-seconds", "0.05", "--max-probe-retries", "0"});
  CHECK(slow.exit_code == 1);
  CHECK(contains(slow.output, "[tune/probe] the trial with"));
  CHECK(contains(slow.output, "did not end within 0.05 s"));
  const std::string empty = folder.write("empty.jsonl", "");
  CHECK(contains(tuned(folder, {"data.train_ds.cuts_path=" + empty}).output, "[tune/no-cuts]"));
  CHECK(contains(run_s2s({"tune-batch"}).output, "CONFIG is missing"));
  CHECK(contains(run_s2s({"tune-batch", "-n", "canary"}).output, "model.llm.path"));
  CHECK(contains(tuned(folder, {"--supervisor-nnodes", "2"}).output, "--nproc-per-node"));
  CHECK(contains(tuned(folder, {"--buckets", "[0]"}).output, "[config/bounds] --buckets"));
  CHECK(contains(tuned(folder, {"--buckets", "[]"}).output, "[config/type] --buckets"));
}
