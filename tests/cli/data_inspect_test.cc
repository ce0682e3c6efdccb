#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "common/temporary_folder.h"
#include "core/data/data_files.h"
#include "core/plugin/fixtures.h"

using namespace s2s::test;
using nlohmann::json;

namespace {

void write_set(const TemporaryFolder& dir) {
  write_audio(dir / "u.wav", 16000, ramp(64000));
  write_audio(dir / "a.wav", 22050, ramp(88200));
  write_text(dir / "cuts.jsonl", cut_json("d0", 4, "u.wav", "a.wav").dump() + "\n");
}

}  // namespace

TEST_CASE("data inspect describes a set in text and in JSON") {
  const TemporaryFolder dir;
  write_set(dir);
  const CommandResult text = run_cli("data inspect " + (dir / "cuts.jsonl"));
  INFO(text.output);
  CHECK(text.exit_code == 0);
  for (const char* part : {"1 cuts, 0.00 h", "agent", "gap between", "0 unreadable"}) {
    CHECK_MESSAGE(contains(text.output, part), part);
  }
  const CommandResult out = run_cli("data inspect --json --no-audio " + (dir / "cuts.jsonl"));
  const json report = json::parse(out.output);
  CHECK(report["cuts"] == 1);
  CHECK(report["audio_read"] == false);
  CHECK(report["agent_text"]["turns"] == 1);
}

TEST_CASE("data inspect --batch draws the token channels") {
  const TemporaryFolder dir;
  write_set(dir);
  const CommandResult drawn = run_cli("data inspect --batch 2 " + (dir / "cuts.jsonl"));
  CHECK(drawn.exit_code == 0);
  CHECK(contains(drawn.output, "d0: 50 frames"));
  CHECK(contains(drawn.output, "hello"));
}

TEST_CASE("data inspect exits with 1 for unreadable audio, with 5 for a line that is not JSON") {
  const TemporaryFolder dir;
  write_set(dir);
  write_text(dir / "u.wav", "gone");
  const CommandResult bad = run_cli("data inspect " + (dir / "cuts.jsonl"));
  CHECK(bad.exit_code == 1);
  CHECK(contains(bad.output, "[data/unreadable-audio]"));
  write_text(dir / "cuts.jsonl", "{\n");
  const CommandResult broken = run_cli("data inspect " + (dir / "cuts.jsonl"));
  CHECK(broken.exit_code == 5);
  CHECK(contains(broken.output, "cuts.jsonl:1: this line is not JSON"));
}
