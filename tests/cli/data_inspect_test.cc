#include <doctest/doctest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "common/temporary_folder.h"
#include "core/duplex/data_files.h"
#include "core/plugin/fixtures.h"

using namespace s2s::test;
using nlohmann::json;

namespace {

void write_inspected_set(const TemporaryFolder& dir) {
  write_audio(dir / "u.wav", 16000, ramp(64000));
  write_audio(dir / "a.wav", 22050, ramp(88200));
  write_text(dir / "cuts.jsonl", cut_json("d0", 4, "u.wav", "a.wav").dump() + "\n");
}

}  // namespace

TEST_CASE("data inspect describes a set in text and in JSON") {
  const TemporaryFolder dir;
  write_inspected_set(dir);
  const CommandResult text = run_cli("data inspect " + (dir / "cuts.jsonl"));
  INFO(text.output);
  CHECK(text.exit_code == 0);
  for (const char* part : {"1 cut, 0.00 h", "agent", "gap between", "0 unreadable"}) {
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
  write_inspected_set(dir);
  const CommandResult drawn = run_cli("data inspect --batch 2 " + (dir / "cuts.jsonl"));
  CHECK(drawn.exit_code == 0);
  CHECK(contains(drawn.output, "d0: 50 frames"));
  CHECK(contains(drawn.output, "hello"));
}

TEST_CASE("data inspect writes a page that needs nothing else") {
  const TemporaryFolder dir;
  write_inspected_set(dir);
  const CommandResult out =
      run_cli("data inspect " + (dir / "cuts.jsonl") + " --html " + (dir / "page.html"));
  INFO(out.output);
  CHECK(out.exit_code == 0);
  std::ifstream file(dir / "page.html");
  const std::string page((std::istreambuf_iterator<char>(file)), {});
  for (const char* part : {"<svg", "data:audio/ogg;base64,", "hello you", "Buckets", "</html>"}) {
    CHECK_MESSAGE(page.find(part) != std::string::npos, part);
  }
  CHECK(page.find("http") == std::string::npos);
  const std::string again =
      "data inspect " + (dir / "cuts.jsonl") + " --html " + (dir / "page.html");
  CHECK(has(run_cli(again), "[io/exists]"));
  CHECK(run_cli(again + " --force").exit_code == 0);
  CHECK(run_cli("data inspect " + (dir / "cuts.jsonl") + " --html /no/folder/x.html").exit_code ==
        5);
}

TEST_CASE("data inspect looks at a part of a set") {
  const TemporaryFolder dir;
  write_inspected_set(dir);
  std::string lines;
  for (int i = 0; i < 20; ++i) {
    lines += cut_json("d" + std::to_string(i), 4, "u.wav", "a.wav").dump() + "\n";
  }
  write_text(dir / "cuts.jsonl", lines);
  const json limited = json::parse(
      run_cli("data inspect --json --limit 7 " + (dir / "cuts.jsonl") + " 2>/dev/null").output);
  CHECK(limited["cuts"] == 7);
  CHECK(limited["limited"] == true);
  CHECK(limited["cuts_heard"] == 7);
  const json sampled = json::parse(
      run_cli("data inspect --json --sample 3 " + (dir / "cuts.jsonl") + " 2>/dev/null").output);
  CHECK(sampled["cuts"] == 20);
  CHECK(sampled["cuts_heard"] == 3);
  const json buckets =
      json::parse(run_cli("data inspect --json --no-audio --bins 3,5 --batch-size 5 " +
                          (dir / "cuts.jsonl") + " 2>/dev/null")
                      .output);
  CHECK(buckets["bucketing"]["buckets"].size() == 3);
  CHECK(buckets["bucketing"]["buckets"][1]["batches"] == 4);
  CHECK(buckets["bucketing"]["padding_share"] == 0);
}

TEST_CASE("data inspect names what it cannot read") {
  const TemporaryFolder dir;
  std::filesystem::create_directories(dir / "empty");
  write_text(dir / "none.jsonl", "");
  write_text(dir / "other.yaml", "a: 1\n");
  const auto check = [&](const std::string& words, int code, const char* id) {
    const CommandResult out = run_cli("data inspect " + words);
    CHECK_MESSAGE(out.exit_code == code, out.output);
    CHECK_MESSAGE(contains(out.output, id), out.output);
  };
  check(dir / "gone.jsonl", 5, "[data/missing-file]");
  check(dir / "empty", 5, "[data/source]");
  check(dir / "none.jsonl", 5, "[data/empty]");
  check(dir / "other.yaml", 5, "[data/source]");
  check((dir / "none.jsonl") + " --limit 0", 2, "[usage/arguments]");
  check((dir / "none.jsonl") + " --bins 1,x", 2, "[usage/arguments]");
}

TEST_CASE("data inspect exits with 1 for unreadable audio, with 5 for a line that is not JSON") {
  const TemporaryFolder dir;
  write_inspected_set(dir);
  write_text(dir / "u.wav", "gone");
  const CommandResult bad = run_cli("data inspect " + (dir / "cuts.jsonl"));
  CHECK(bad.exit_code == 1);
  CHECK(contains(bad.output, "[data/unreadable-audio]"));
  write_text(dir / "cuts.jsonl", "{\n");
  const CommandResult broken = run_cli("data inspect " + (dir / "cuts.jsonl"));
  CHECK(broken.exit_code == 5);
  CHECK(contains(broken.output, "cuts.jsonl:1: this line is not JSON"));
}

TEST_CASE("a folder without shards says what it holds, a recording what makes cuts of it") {
  const TemporaryFolder folder;
  const std::string path = folder.path().string();
  CHECK(has(run_cli("data inspect " + path), "s2s-run data convert FOLDER OUT.jsonl.gz converts"));
  for (const char* const name : {"train.jsonl", "dev.jsonl.gz", "a.wav"}) {
    write_text(folder / name, "");
  }
  CHECK(has(run_cli("data inspect " + path),
            "it contains dev.jsonl.gz, train.jsonl; give one of them"));
  const auto recording = run_cli("data inspect " + path + "/a.wav");
  CHECK(recording.exit_code == 5);
  CHECK_MESSAGE(has(recording, "[data/source]"), recording.output);
  CHECK(has(recording, "a recording alone has no turns"));
  write_text(folder / "tarred.json",
             R"({"audio_filepath": "a.flac", "duration": 1, "shard_id": 0})");
  CHECK(has(run_cli("data inspect " + path + "/tarred.json"), "[{type: nemo_tarred, "));
  write_audio(folder / "b.wav", 16000, ramp(16000));
  write_text(folder / "manifest.json",
             R"({"audio_filepath": "b.wav", "duration": 1, "text": "x"})");
  const auto manifest = run_cli("data inspect --no-audio " + path + "/manifest.json");
  CHECK(manifest.exit_code == 1);
  CHECK_MESSAGE(has(manifest, "input_cfg: [{type: nemo_tarred_to_duplex"), manifest.output);
  CHECK_FALSE(has(manifest, "lhotse"));
}

TEST_CASE("a NeMo manifest may have blank lines, and equal file names in several folders") {
  const TemporaryFolder dir;
  for (const char* const speaker : {"s1", "s2"}) {
    std::filesystem::create_directory(dir / speaker);
    write_audio(dir / speaker + "/0001.wav", 16000, ramp(16000));
  }
  const std::string manifest = dir / "m.json";
  write_text(manifest,
             "{\"audio_filepath\": \"s1/0001.wav\", \"duration\": 1, \"text\": \"a\"}\n\n  \n"
             "{\"audio_filepath\": \"s2/0001.wav\", \"duration\": 1, \"text\": \"b\"}\n\n");
  const auto inspected = run_cli("data inspect " + manifest);
  CAPTURE(inspected.output);
  CHECK(has(inspected, "2 cuts"));
  CHECK(has(inspected, "warning: the ids of 1 cut are used before; training uses all of them"));
  CHECK(has(inspected, "m.json:4: cut '0001': the id is already used at " + manifest + ":1"));
  const auto converted = run_cli("data convert " + manifest + " " + (dir / "out.jsonl"));
  CHECK_MESSAGE(has(converted, "rename one, or give --rename-duplicates"), converted.output);
  const auto renamed =
      run_cli("data convert --rename-duplicates " + manifest + " " + (dir / "out.jsonl"));
  CHECK_MESSAGE(renamed.exit_code == 0, renamed.output);
}
