#include <doctest/doctest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "common/contains.h"
#include "common/places.h"
#include "common/temporary_folder.h"

using namespace s2s::test;

TEST_CASE("data synth --text makes prompts and chats, and finds them the second time") {
  const TemporaryFolder folder;
  const std::string out = folder / "set";
  const CommandResult made = run_cli("data synth " + out + " --text --tiny");
  CHECK_MESSAGE(made.exit_code == 0, made.output);
  CHECK_MESSAGE(contains(made.output, "lines: chat 256, chat_dev 16, dev 16, train 256"),
                made.output);
  const CommandResult again = run_cli("data synth " + out + " --text --tiny --json");
  CHECK(nlohmann::json::parse(again.output)["reused"] == true);
}

TEST_CASE("data inspect of a run on text counts documents, labels and padding") {
  const TemporaryFolder folder;
  const std::string config =
      source_dir() + "/configs/text.yaml data.synth.size=tiny text.data=" + (folder / "set");
  const auto inspect = [&](const std::string& more) {
    const CommandResult result = run_cli("data inspect --json " + config + " " + more);
    CHECK_MESSAGE(result.exit_code == 0, result.output);
    return nlohmann::json::parse(result.output);
  };
  const nlohmann::json packed = inspect("");
  CHECK(packed["documents"] == 256);
  CHECK(packed["documents_without_labels"] == 0);
  CHECK(packed["labels"] < packed["tokens"]);
  const nlohmann::json padded = inspect("data.train_ds.packing=none");
  CHECK(padded["tokens"] == packed["tokens"]);
  CHECK(padded["labels"] == packed["labels"]);
  CHECK(padded["rows"] == 256);
  CHECK(padded["padding"] > packed["padding"]);
  const CommandResult dev = run_cli("data inspect --set dev " + config);
  CHECK_MESSAGE(contains(dev.output, "16 documents"), dev.output);
}
