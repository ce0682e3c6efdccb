// One run with secrets everywhere and all loggers: none of its files, and nothing that it prints,
// holds one.

#include <doctest/doctest.h>

#include <fstream>
#include <iterator>

#include "cli/train/tiny_run.h"
#include "common/contains.h"

using namespace s2s::test;
namespace fs = std::filesystem;

namespace {

const Words kSecrets = {
    // of the environment alone
    "S01-slurm-jwt", "S02-hub-key", "S03-omp-pass", "S04-spank-auth", "S05-wandb-key",
    // of the environment through interpolations
    "S06-hf-token", "S07-db-password", "S08-plain-name", "S09-url-variable", "S10-group-sas",
    // typed: keys with secret names, copies of them, addresses, options
    "S11-typed-token", "S12-typed-pass", "S13-typed-pat", "S14-url-word", "S15-url-token",
    "S16-signature", "S17-url-in-text", "S18-url-of-tags", "S19-tag-jwt", "S20-shell-expanded"};

/// The bytes of the blocks of a .wandb file, without the heads that may cut a text in two.
std::string wandb_content(const std::string& file) {
  constexpr size_t kFileHead = 7, kBlock = 32768, kHead = 7;
  std::string content;
  for (size_t at = kFileHead; at + kHead <= file.size();) {
    const size_t left = kBlock - at % kBlock;
    const size_t size = static_cast<unsigned char>(file[at + 4]) +
                        256 * static_cast<size_t>(static_cast<unsigned char>(file[at + 5]));
    if (left < kHead || size + kHead > left) {
      at += left;
      continue;
    }
    content += file.substr(at + kHead, size);
    at += kHead + size;
  }
  return content;
}

/// The name and every byte of a file. What is compressed would hide its content from this test.
std::string searched_bytes(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(in)), {});
  for (const char* const start : {"PK\x03\x04", "\x1f\x8b", "SQLite format",
                                  "\xfd"
                                  "7zXZ",
                                  "BZh"}) {
    CHECK_MESSAGE(!bytes.starts_with(start), file.string() << " has to be unpacked here");
  }
  if (file.extension() == ".wandb") bytes += wandb_content(bytes);
  return file.string() + "\n" + bytes;
}

std::map<std::string, std::string> environment_with_secrets() {
  return {{"SLURM_JWT", kSecrets[0]},
          {"TORCH_HUB_KEY", kSecrets[1]},
          {"OMP_PASS", kSecrets[2]},
          {"SLURM_SPANK_X_AUTH", kSecrets[3]},
          {"WANDB_API_KEY", kSecrets[4]},
          {"HF_TOKEN", kSecrets[5]},
          {"DB_PASSWORD", kSecrets[6]},
          {"S2S_TEST_PLAIN", kSecrets[7]},
          {"MLFLOW_TRACKING_URI", "https://me:" + kSecrets[8] + "@host"},
          {"S2S_TEST_SAS", kSecrets[9]},
          {"S2S_TEST_PAT", kSecrets[19]},
          {"WANDB_NOTES", "a run with " + kSecrets[4]},
          {"S2S_TEST_RUN", "job-4711"},
          {"OMP_SCHEDULE", "static"}};
}

/// All loggers, with secrets in what they write down.
std::string loggers_with_secrets(const fs::path& folder) {
  return "exp_manager.loggers=[{name: tensorboard, prefix: 'p ${oc.env:S2S_TEST_PLAIN}'},"
         "{name: wandb, group: 'g ${oc.env:S2S_TEST_SAS}', notes: 'n ${oc.env:DB_PASSWORD}',"
         " tags: ['${oc.env:HF_TOKEN}', 'x " +
         kSecrets[10] + "', 'https://u:" + kSecrets[17] +
         "@h'], job_type: '${oc.env:MLFLOW_TRACKING_URI}', run_name: 'r ${oc.env:WANDB_NOTES}'},"
         "{name: mlflow, experiment_name: 'e ${oc.env:S2S_TEST_PLAIN}', save_dir: '" +
         (folder / "${oc.env:S2S_TEST_RUN}").string() +
         "', tags: {t: '${oc.env:HF_TOKEN}', put: 'in ${my_hub.github_pat} a text', db_pass: " +
         kSecrets[11] + ", my_jwt: " + kSecrets[18] + ", hf_token: " + kSecrets[10] +
         ", copy: 'x " + kSecrets[10] +
         "', sched: '${oc.env:OMP_SCHEDULE}'}},"
         "{name: csv, prefix: 'p-${oc.env:S2S_TEST_PLAIN}'}]";
}

}  // namespace

TEST_CASE("no byte that a run writes or prints holds one of twenty secrets") {
  const TemporaryFolder folder;
  const fs::path run = folder.path() / "run";
  const Words typed = {
      "trainer.max_steps=2",
      "model.lr_scheduler.warmup_steps=0",
      "trainer.val_check_interval=1",
      "exp_manager.name=${my_hub.name}-${oc.env:S2S_TEST_PLAIN}",
      "exp_manager.log_examples=1",
      "my_hub={name: run, hf_token: " + kSecrets[10] + ", github_pat: " + kSecrets[12] + "}",
      "my_hub.copy=again-" + kSecrets[10],
      "my_hub.url=https://user:" + kSecrets[13] + "@example.org/x",
      "my_hub.git=https://" + kSecrets[14] + "@example.org/x",
      "my_hub.blob=https://example.org/x?sv=1&sig=" + kSecrets[15],
      "my_hub.text=see ftp://user:" + kSecrets[16] + "@example.org and tell",
      "my_hub.shell=with-" + kSecrets[19],
      "my_hub.kept=https://me:${oc.env:HF_TOKEN}@example.org",
      loggers_with_secrets(folder.path())};
  const Outcome outcome = run_s2s(tiny_words("train", run, typed), environment_with_secrets());
  REQUIRE_MESSAGE(outcome.exit_code == 0, outcome.output);
  CHECK_FALSE(contains(outcome.output, "it receives no further values"));

  std::string all = outcome.output;
  int num_files = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder.path())) {
    if (!entry.is_regular_file()) continue;
    all += searched_bytes(entry.path());
    ++num_files;
  }
  CHECK(num_files > 20);
  for (const std::string& secret : kSecrets) CHECK_MESSAGE(!contains(all, secret), secret);

  // The search sees what all of them wrote, and references stay readable.
  const std::string config = read_text(run / "config.yaml");
  CHECK(contains(config, "t: \"${oc.env:HF_TOKEN}\""));
  CHECK(contains(config, "db_pass: ???"));
  CHECK(contains(config, "copy: ???"));
  CHECK(contains(all, "n ${oc.env:DB_PASSWORD}"));
  CHECK(contains(all, "g ${oc.env:S2S_TEST_SAS}"));
  const std::string manifest = read_text(run / "manifest.json");
  CHECK(contains(manifest, "https://user:***@example.org/x"));
  CHECK(contains(manifest, "my_hub.copy=***"));
  for (const auto& entry : fs::recursive_directory_iterator(folder.path() / "job-4711")) {
    if (entry.path().parent_path().filename() != "tags") continue;
    const std::string name = entry.path().filename().string(), tag = read_text(entry.path());
    if (name == "t") CHECK(tag == "${oc.env:HF_TOKEN}");
    if (name == "db_pass") CHECK(tag == "***");
    if (name == "put") CHECK(tag == "***");
    if (name == "sched") CHECK(tag == "static");
  }
  const fs::path variables = run / "snapshot/environment.json";
  CHECK(nlohmann::json::parse(read_text(variables)).at("OMP_SCHEDULE") == "static");
  CHECK((fs::status(variables).permissions() & fs::perms::mask) ==
        (fs::perms::owner_read | fs::perms::owner_write));
}
