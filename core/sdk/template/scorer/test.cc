// Runs the scorer with small shell scripts, and prints what differs from the expectation.

#include <ATen/ATen.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "s2s/error.h"
#include "s2s/nn/weights.h"
#include "scorer.h"

namespace {

namespace fs = std::filesystem;

int num_wrong = 0;

void expect(bool holds, const std::string& what) {
  if (!holds) std::fprintf(stderr, "failed: %s\n", what.c_str());
  num_wrong += holds ? 0 : 1;
}

/// The transcripts of a program for two tones with silence between them: 0.5 s at 8 kHz, silence, 1
/// s at 16 kHz.
std::vector<std::string> transcripts_of(const std::string& program, const std::string& more = "") {
  const at::Tensor tone_S = at::sin(at::arange(16000, at::kFloat) * 0.1) * 0.5;
  s2s::ScorerContext context;
  context.path = "model.scoring_asr";
  const std::string json = R"({"program": ")" + program + "\"" + more + "}";
  const auto scorer = PLUGIN_NAME::create(s2s::parse_json(json, "options"), context);
  scorer->prepare({});
  return scorer->transcribe(
      {{tone_S.narrow(0, 0, 4000), 8000}, {at::zeros({16000}), 16000}, {tone_S, 16000}});
}

void expect_error(const std::string& name, const std::string& program, const std::string& more) {
  try {
    transcripts_of(program, more);
    expect(false, name + " was not thrown");
  } catch (const s2s::Error& error) {
    expect(error.id() == "PLUGIN_NAME/" + name, std::string(error.what()) + ", expected " + name);
  }
}

}  // namespace

int main() {
  const fs::path folder =
      fs::temp_directory_path() / ("PLUGIN_NAME_test_" + std::to_string(getpid()));
  fs::create_directories(folder);
  const auto script = [&](const std::string& name, const std::string& body) {
    const fs::path path = folder / name;
    std::ofstream(path) << "#!/bin/sh\n" << body << "\n";
    fs::permissions(path, fs::perms::owner_all);
    return path.string();
  };
  const std::string sizes = script("sizes", "while read -r f; do wc -c < \"$f\"; done");
  expect(transcripts_of(sizes) == std::vector<std::string>{"16044", "", "32044"},
         "each clip is a WAV file at 16 kHz, and silent clips are skipped");
  expect_error("lines", script("mute", "cat > /dev/null"), "");
  expect_error("failed", script("broken", "echo no model >&2; exit 3"), "");
  expect_error("failed", script("slow", "sleep 60"), R"(, "timeout_s": 0.1)");
  expect_error("program", (folder / "none").string(), "");
  fs::remove_all(folder);
  if (num_wrong == 0) std::puts("ok");
  return num_wrong == 0 ? 0 : 1;
}
