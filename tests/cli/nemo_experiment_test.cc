// The whole exp_manager block of NeMo: every key is used, translated, or answered by its name.

#include <doctest/doctest.h>

#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "cli/command.h"
#include "common/places.h"
#include "common/temporary_folder.h"
#include "core/duplex/data_files.h"
#include "s2s/foreign_text.h"

using namespace s2s::test;

namespace {

/// ExpManagerConfig of NeMo with its defaults.
std::string nemo_block() {
  const std::string text = s2s::read_small_file(source_dir() + "/tests/cli/nemo_exp_manager.yaml");
  return text.substr(text.find('\n') + 1);  // without the comment
}

/// configs/tiny.yaml with this exp_manager block.
std::string tiny_with(const std::string& block) {
  std::string text = s2s::read_small_file(source_dir() + "/configs/tiny.yaml");
  const size_t begin = text.find("exp_manager:"), end = text.find("\ntiny:", begin);
  std::string indented = "exp_manager:\n";
  std::istringstream lines(block);
  for (std::string line; std::getline(lines, line);) indented += "  " + line + "\n";
  return text.replace(begin, end - begin, indented);
}

/// The keys at the top of a block, and those of the flow maps in it: "ema.enable".
std::vector<std::string> keys_of(const std::string& block) {
  std::vector<std::string> keys;
  std::istringstream lines(block);
  for (std::string line; std::getline(lines, line);) {
    const size_t colon = line.find(": ");
    if (colon == std::string::npos) continue;
    const std::string key = line.substr(0, colon);
    if (line.find('{') == std::string::npos) {
      keys.push_back(key);
      continue;
    }
    std::istringstream parts(line.substr(line.find('{') + 1));
    for (std::string part; std::getline(parts, part, ',');) {
      const size_t first = part.find_first_not_of(' ');
      keys.push_back(key + "." + part.substr(first, part.find(':') - first));
    }
  }
  return keys;
}

}  // namespace

TEST_CASE("every key of NeMo's exp_manager is used, or answered by its name") {
  const TemporaryFolder folder;
  std::string block = nemo_block();
  block.replace(block.find("RUNS"), 4, folder / "runs");
  write_text(folder / "nemo.yaml", tiny_with(block));
  const CommandResult checked = run_cli("config check " + (folder / "nemo.yaml"));
  CHECK_MESSAGE(checked.exit_code == 0, checked.output);
  const CommandResult shown = run_cli("config show " + (folder / "nemo.yaml"));
  const std::vector<std::string> keys = keys_of(block);
  CHECK(keys.size() == 112);
  for (const std::string& key : keys) {
    const std::string top = key.substr(0, key.find('.'));
    const bool is_named = has(checked, ("exp_manager." + key + " (").c_str()) ||
                          has(checked, ("exp_manager." + top + " (").c_str());
    const std::string name = key.substr(key.find('.') + 1);
    const bool is_used =
        has(shown, ("\n  " + key + ":").c_str()) || has(shown, ("\n    " + name + ":").c_str());
    // A logger that is switched off asks for nothing; loggers_test.cc has the others.
    const bool is_off = key.find("_logger") != std::string::npos || key == "summary_writer_kwargs";
    CHECK_MESSAGE((is_named || is_used || is_off), key);
  }
}

TEST_CASE("what a key of NeMo asks for and s2s has elsewhere is an error that says where") {
  const TemporaryFolder folder;
  const std::string tiny = "config check " + source_dir() +
                           "/configs/tiny.yaml tiny.data=" + (folder / "data") +
                           " tiny.run=" + (folder / "run") + " exp_manager.";
  const std::map<std::string, std::string> cases = {
      {"checkpoint_callback_params.dirpath=/a", "write exp_manager.explicit_log_dir"},
      {"checkpoint_callback_params.filename=a/{step}", "[config/filename]"},
      {"create_ipl_epoch_stopper_callback=true", "unknown key 'create_ipl_epoch_stopper_callback'"},
      {"ema.decay=1.5", "exp_manager.ema.decay"},
      {"ema.every_n_step=2", "every_n_steps"}};
  for (const auto& [word, said] : cases) {
    const CommandResult result = run_cli(tiny + "'" + word.substr(0) + "'");
    CAPTURE(word);
    CHECK(result.exit_code == 3);
    CHECK_MESSAGE(has(result, said.c_str()), result.output);
  }
}

TEST_CASE("parts of an epoch are read as Lightning reads them") {
  const TemporaryFolder folder;
  const std::string tiny = " " + source_dir() +
                           "/configs/tiny.yaml tiny.data=" + (folder / "data") +
                           " tiny.run=" + (folder / "run") + " trainer.";
  const CommandResult part = run_cli("config check" + tiny +
                                     "val_check_interval=0.25 trainer.limit_train_batches=100 "
                                     "trainer.accumulate_grad_batches=2");
  CHECK_MESSAGE(part.exit_code == 0, part.output);
  CHECK_MESSAGE(has(part, "0.25 of limit_train_batches (100): every 13 optimizer steps"),
                part.output);
  const CommandResult whole = run_cli("config check" + tiny +
                                      "val_check_interval=1.0 trainer.limit_train_batches=40 "
                                      "trainer.limit_val_batches=1.0");
  CHECK_MESSAGE(has(whole, "every 40 optimizer steps"), whole.output);
  CHECK_MESSAGE(has(whole, "read as null, all batches"), whole.output);
  const CommandResult nothing = run_cli("config check" + tiny + "val_check_interval=0.5");
  CHECK(nothing.exit_code == 3);
  CHECK_MESSAGE(has(nothing, "with trainer.limit_train_batches: BATCHES"), nothing.output);
}
