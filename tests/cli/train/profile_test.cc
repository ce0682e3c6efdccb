// trainer.profile, NeMo's NsightProfiling, and where a run's time went.

#include <doctest/doctest.h>

#include <sstream>

#include "cli/train/tiny_run.h"
#include "common/contains.h"
#include "common/places.h"

using namespace s2s::test;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

const Words kFourSteps = {"trainer.max_steps=4", "trainer.val_check_interval=2",
                          "trainer.limit_val_batches=1"};

/// A complete event of a trace.
struct Span {
  std::string name, category;
  double begin_us = 0, end_us = 0;
  int64_t process = 0, thread = 0;
  json arguments;
  bool holds(const Span& other) const {
    return thread == other.thread && begin_us <= other.begin_us && other.end_us <= end_us;
  }
};

/// Reads a trace and checks what the trace-event format asks of each event: a phase it knows,
/// names, times that are numbers and not negative, the ids of process and thread.
std::vector<Span> spans_of(const fs::path& file) {
  const json trace = json::parse(read_text(file));
  REQUIRE(trace.at("traceEvents").is_array());
  std::vector<Span> spans;
  for (const json& event : trace["traceEvents"]) {
    const std::string phase = event.at("ph");
    REQUIRE(phase.size() == 1);
    REQUIRE(std::string("XMsfiIBEbe").find(phase) != std::string::npos);
    REQUIRE(event.at("name").is_string());
    if (phase == "M") continue;
    REQUIRE(event.at("ts").get<double>() >= 0);
    REQUIRE(event.contains("pid"));
    REQUIRE(event.contains("tid"));
    if (phase == "s" || phase == "f") REQUIRE(event.contains("id"));
    if (phase != "X") continue;
    REQUIRE(event.at("dur").get<double>() >= 0);
    if (!event["tid"].is_number()) continue;  // Kineto's own rows
    const double begin = event["ts"];
    spans.push_back({event["name"], event.value("cat", ""), begin,
                     begin + event["dur"].get<double>(), 0, event["tid"],
                     event.value("args", json::object())});
  }
  return spans;
}

int64_t count_of(const std::vector<Span>& spans, const std::string& name,
                 const std::string& category) {
  return std::count_if(spans.begin(), spans.end(), [&](const Span& span) {
    return span.name == name && span.category == category;
  });
}

const Span* find(const std::vector<Span>& spans, const std::string& name) {
  const auto found =
      std::find_if(spans.begin(), spans.end(), [&](const Span& span) { return span.name == name; });
  return found == spans.end() ? nullptr : &*found;
}

/// Seconds of the rows of the last table of times in log.txt, and those of its first line.
std::pair<std::map<std::string, double>, double> time_table(const fs::path& run) {
  const std::string log = read_text(run / "log.txt");
  const size_t begin = log.rfind("time of ");
  REQUIRE(begin != std::string::npos);
  std::istringstream lines(log.substr(begin));
  std::string line;
  std::getline(lines, line);
  const double wall_s = std::stod(line.substr(line.rfind(": ") + 2));
  std::map<std::string, double> rows;
  while (std::getline(lines, line) && line.starts_with("  ")) {
    const std::string name = line.substr(2, line.find("  ", 2) - 2);
    rows[name] = std::stod(line.substr(28));
  }
  return {rows, wall_s};
}

}  // namespace

TEST_CASE("the phases of a run add up to its time, and each step's to the step's") {
  const TemporaryFolder folder;
  const fs::path run = folder.path() / "run";
  train_tiny(run, with(kFourSteps, {"trainer.peak_tflops=0.5", "trainer.log_every_n_steps=1"}));
  double steps_s = 0, phases_s = 0;
  for (const auto& line : metrics(run)) {
    if (line.contains("validation")) continue;
    const double step_s = line["step_time_s"];
    steps_s += step_s;
    for (const char* phase : {"time_data_s", "time_to_device_s", "time_forward_s",
                              "time_backward_s", "time_communication_s", "time_optimizer_s"}) {
      CHECK(line[phase].get<double>() >= 0);
      phases_s += line[phase].get<double>();
    }
    CHECK(line["time_communication_s"] == 0);
    CHECK(line["tokens_per_s"].get<double>() ==
          doctest::Approx(line["tokens"].get<double>() / step_s));
    const double tflops =
        line["model_tflops_per_s"].get<double>() + line["encoder_tflops_per_s"].get<double>();
    CHECK(line["encoder_tflops_per_s"] > 0);
    CHECK(line["utilization"].get<double>() == doctest::Approx(tflops / 0.5));
    CHECK(line["audio_hours_per_s"] > 0);
  }
  CHECK(phases_s == doctest::Approx(steps_s).epsilon(0.02));
  const auto [rows, wall_s] = time_table(run);
  double sum_s = 0;
  for (const char* row :
       {"data wait", "host to device", "forward", "backward", "communication not hidden",
        "optimizer", "checkpoint", "validation", "reports"}) {
    REQUIRE_MESSAGE(rows.contains(row), row);
    sum_s += rows.at(row);
  }
  CHECK(sum_s == doctest::Approx(wall_s).epsilon(0.02));
  CHECK(rows.at("sum") == doctest::Approx(sum_s).epsilon(0.02));
  CHECK(rows.at("validation") > 0);
  CHECK(rows.at("checkpoint") > 0);
  CHECK(contains(read_text(run / "log.txt"), " tokens/s  "));
  CHECK(contains(read_text(run / "log.txt"), "utilization "));
}

TEST_CASE("trainer.profile writes a trace of its steps and changes nothing") {
  const TemporaryFolder folder;
  const fs::path run = folder.path() / "run", plain = folder.path() / "plain";
  const std::string output = train_tiny(
      run, with(kFourSteps, {"trainer.profile={begin_step: 1, end_step: 2, shapes: true}"}));
  train_tiny(plain, kFourSteps);
  CHECK(lasting_metrics(run) == lasting_metrics(plain));
  const fs::path file = run / "profile/rank_0.steps_1-2.pt.trace.json";
  CHECK(contains(output, "profile " + file.string()));
  const std::vector<Span> spans = spans_of(file);
  for (const char* phase : {"data", "host to device", "forward", "backward", "update"}) {
    CHECK_MESSAGE(count_of(spans, phase, "user_annotation") == 2, phase);
  }
  CHECK(count_of(spans, "validate", "user_annotation") == 1);  // after step 2
  CHECK(count_of(spans, "save", "user_annotation") == 0);
  const Span* const attention = find(spans, "llm.layers.1.self_attn.q_proj");
  REQUIRE(attention != nullptr);
  const Span* const forward = find(spans, "forward");
  CHECK(forward->holds(*attention));
  const auto product = std::find_if(spans.begin(), spans.end(), [&](const Span& span) {
    return span.category == "cpu_op" && attention->holds(span) &&
           span.arguments.contains("Input Dims");
  });
  CHECK(product != spans.end());
  const Span* const backward = find(spans, "backward");
  CHECK(std::any_of(spans.begin(), spans.end(), [&](const Span& span) {
    return span.name.starts_with("autograd::engine::evaluate_function: ") && backward->holds(span);
  }));
}

TEST_CASE("two ranks: only the asked one is traced, with the waits for collectives") {
  const TemporaryFolder folder;
  const fs::path run = folder.path() / "run";
  const Words words =
      tiny_words("train", run,
                 with(kFourSteps, {"trainer.strategy={name: fsdp}", "trainer.peak_tflops=1",
                                   "trainer.profile={begin_step: 3, ranks: [1]}"}));
  const Outcome outcome = run_s2s(with({"launch", "local", "-n", "2", "--"}, words));
  REQUIRE_MESSAGE(outcome.exit_code == 0, outcome.output);
  CHECK_FALSE(fs::exists(run / "profile/rank_0.steps_3-3.pt.trace.json"));
  const std::vector<Span> spans = spans_of(run / "profile/rank_1.steps_3-3.pt.trace.json");
  CHECK(std::any_of(spans.begin(), spans.end(), [](const Span& span) {
    return span.name.starts_with("wait for all_gather") && span.category == "user_annotation";
  }));
  const auto [rows, wall_s] = time_table(run);
  CHECK(rows.at("communication not hidden") > 0);
  CHECK(rows.at("sum") == doctest::Approx(wall_s).epsilon(0.02));
}

TEST_CASE("NeMo's NsightProfiling starts and stops nsys, with ranges that nest") {
  const TemporaryFolder folder;
  const fs::path calls = folder.path() / "calls";
  const std::string callback =
      "_target_: nemo.collections.speechlm2.parts.nsight.NsightProfiling, begin_step: 2, "
      "end_step: 2, gen_shape: true, nvtx_ranges: true";
  const Outcome outcome =
      run_s2s(tiny_words("train", folder.path() / "run",
                         with(kFourSteps, {"trainer.callbacks=[{" + callback + "}]"})),
              {{"LD_PRELOAD", binary_dir() + "/tests/fake_cuda_profiler.so"},
               {"S2S_TEST_NVTX", calls.string()}});
  REQUIRE_MESSAGE(outcome.exit_code == 0, outcome.output);
  std::istringstream lines(read_text(calls));
  std::vector<std::string> open, all;
  std::string line;
  bool has_module = false, has_shape = false;
  while (std::getline(lines, line)) {
    all.push_back(line);
    if (line.starts_with("push ")) open.push_back(line.substr(5));
    has_module |= line.starts_with("push llm.layers.0.mlp") && open.front().starts_with("forward,");
    has_shape |= contains(line, "aten::") && contains(line, "sizes = [[");
    if (line == "pop") {
      REQUIRE_FALSE(open.empty());
      open.pop_back();
    }
  }
  REQUIRE(all.size() > 2);
  CHECK(all.front() == "start");
  CHECK(all.back() == "stop");
  CHECK(open.empty());
  CHECK(has_module);
  CHECK(has_shape);
  CHECK(std::count_if(all.begin(), all.end(), [](const std::string& call) {
          return call.starts_with("push update,");
        }) == 1);
}

TEST_CASE("where there is no CUDA, nsys is a warning, and training goes on") {
  const TemporaryFolder folder;
  const std::string output = train_tiny(
      folder.path() / "run", {"trainer.max_steps=3", "~trainer.val_check_interval",
                              "trainer.profile={begin_step: 0, tool: nsys, nvtx_ranges: false}"});
  // No runtime is loaded, or one is, with LibTorch, and finds no driver.
  CHECK(contains(output, "[run/profile] nsys records nothing of this run: "));
}

TEST_CASE("config check tells what is wrong with a profile and with NeMo's callback") {
  const TemporaryFolder folder;
  const auto checked = [&](const std::string& word) {
    Words check = tiny_words("check", folder.path() / "run", {word});
    check.insert(check.begin(), "config");
    return run_s2s(check).output;
  };
  CHECK(contains(checked("trainer.profile={begin_step: 5, end_step: 4}"),
                 "expected at least begin_step, 5"));
  CHECK(contains(checked("trainer.profile={end_step: 4}"), "trainer.profile.begin_step"));
  CHECK(contains(checked("trainer.profile={begin_step: 5, tool: vtune}"), "one of: trace, nsys"));
  const std::string target = "trainer.callbacks=[{_target_: parts.nsight.NsightProfiling, ";
  CHECK(contains(checked(target + "end_step: 4}]"), "trainer.callbacks.0.begin_step"));
  CHECK(contains(checked(target + "start_step: 3, end_step: 4, shape: 1}]"),
                 "unknown key 'shape' in trainer.callbacks.0"));
  const std::string read = checked(target + "start_step: 3, end_step: 9}]");
  CHECK(contains(read,
                 "read as trainer.profile: {tool: nsys, begin_step: 3, end_step: 9, "
                 "nvtx_ranges: false, ranks: []}"));
  CHECK(contains(checked("trainer.profiler=simple"), "write trainer.profile"));
}
