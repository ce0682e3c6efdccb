// s2s-run runs: the folders that training has left, side by side.

#include <doctest/doctest.h>

#include <csignal>
#include <cstdlib>

#include "cli/train/tiny_run.h"
#include "common/contains.h"
#include "common/places.h"

using namespace s2s::test;
namespace fs = std::filesystem;
using nlohmann::json;

namespace {

/// Four short runs: two alike, one with another learning rate, one with other batches.
struct FourRuns {
  TemporaryFolder folder;
  fs::path runs = folder.path() / "runs";

  FourRuns() {
    const Words quick = {"trainer.max_steps=4", "trainer.val_check_interval=2"};
    const auto train = [&](const char* name, const std::string& word) {
      Words words = quick;
      words.push_back(word);
      train_tiny(runs / name, words);
    };
    train("a", "trainer.seed=1");
    train("again", "trainer.seed=1");
    train("other_rate", "model.optimizer.lr=2e-3");
    train("other_batches", "data.train_ds.seed=7");
  }
};

const FourRuns& four_runs() {
  static const FourRuns runs;
  return runs;
}

std::string run_of(const std::string& name) { return (four_runs().runs / name).string(); }

json compared(const Words& folders) {
  Words words = {"runs", "compare", "--json"};
  for (const std::string& name : folders) words.push_back(run_of(name));
  const Outcome outcome = run_s2s(words);
  REQUIRE_MESSAGE(outcome.exit_code == 0, outcome.output);
  return json::parse(outcome.output);
}

}  // namespace

TEST_CASE("runs list finds the runs below a folder and shows the keys that differ") {
  const Outcome outcome = run_s2s({"runs", "list", "--json", four_runs().runs.string()});
  REQUIRE_MESSAGE(outcome.exit_code == 0, outcome.output);
  const json list = json::parse(outcome.output);
  REQUIRE(list.size() == 4);
  CHECK(list[0]["name"] == "a");
  CHECK(list[0]["steps"] == 4);
  CHECK(list[0]["checkpoint"] == "step=4");
  CHECK(list[0]["last"]["loss"] == metrics(four_runs().runs / "a").at(4)["loss"]);
  CHECK(list[0]["differences"].size() == 2);  // where a run writes is no difference
  CHECK(list[2]["differences"]["data.train_ds.seed"] == "7");
  CHECK(list[3]["differences"]["model.optimizer.lr"] == "2e-3");
  const Outcome table = run_s2s({"runs", "list", four_runs().runs.string()});
  CHECK_MESSAGE(contains(table.output, "4 of 4"), table.output);
  CHECK(contains(table.output, "model.optimizer.lr=2e-3"));
  // What most runs have sets none apart.
  CHECK_FALSE(contains(table.output, "model.optimizer.lr=1e-3"));
  CHECK_FALSE(contains(table.output, "data.train_ds.seed=1"));
  CHECK(contains(table.output, "step=4      -\n"));
}

TEST_CASE("runs list writes a page of all runs, and replaces only its own pages") {
  const fs::path page = four_runs().folder.path() / "list.html";
  const Words words = {"runs", "list", four_runs().runs.string(), "--html", page.string()};
  for (int i = 0; i < 2; ++i) {
    const Outcome outcome = run_s2s(words);
    REQUIRE_MESSAGE(outcome.exit_code == 0, outcome.output);
    const std::string html = read_text(page);
    for (const char* const text : {"<th scope=\"row\">other_rate</th>", "4 of 4", "step=4",
                                   "model.optimizer.lr=2e-3", "\"label\":\"again\""}) {
      CHECK_MESSAGE(contains(html, text), text);
    }
  }
  write_text(page, "mine");
  const Outcome refused = run_s2s(words);
  CHECK(refused.exit_code == 5);
  CHECK_MESSAGE(contains(refused.output, "[io/exists]"), refused.output);
  CHECK(read_text(page) == "mine");
}

TEST_CASE("runs page follows a run from before its first step to its last") {
  const TemporaryFolder folder;
  const fs::path runs = folder.path() / "runs", page = folder.path() / "a page.html";
  Process follows(
      {"runs", "page", runs.string(), "--follow", "--every", "1", "--output", page.string()});
  REQUIRE(wait_until(follows, [&] { return contains(follows.output(), "waiting for a run in "); }));
  train_tiny(runs / "one", {"trainer.max_steps=4", "trainer.val_check_interval=2"});
  const Outcome ended = follows.wait();
  CHECK_MESSAGE(ended.exit_code == 0, ended.output);
  CHECK_MESSAGE(contains(ended.output, "waiting for a run in "), ended.output);
  const std::string html = read_text(page);
  CHECK(contains(html, "4 of 4"));
  CHECK(contains(html, "\"name\":\"loss\""));
  CHECK_FALSE(contains(html, "http-equiv"));  // it is over
  fs::create_directories(runs / "one/report");
  write_text(runs / "one/report/index.html", "");
  const Outcome once = run_s2s({"runs", "page", (runs / "one").string()});
  CHECK_MESSAGE(once.exit_code == 0, once.output);
  CHECK(contains(read_text(runs / "one/curves.html"), "<a href=\"./report/index.html\">one</a>"));
  const std::string here = "cd '" + folder.path().string() + "' && " + binary_dir() +
                           "/bin/s2s-run runs list runs --html here.html > /dev/null";
  CHECK(std::system(here.c_str()) == 0);
  CHECK(contains(read_text(folder.path() / "here.html"),
                 "<a href=\"./runs/one/report/index.html\">one</a>"));
}

TEST_CASE("a page that follows a run asks the browser to read it again, until ^C") {
  const TemporaryFolder folder;
  const fs::path run = folder.path() / "run";
  fs::create_directories(run);
  write_text(run / "metrics.jsonl", "{\"step\":1,\"loss\":2.5}\n");
  Process follows({"runs", "page", run.string(), "--follow", "--every", "1"});
  REQUIRE(wait_until(follows, [&] { return fs::exists(run / "curves.html"); }));
  CHECK(contains(read_text(run / "curves.html"), "http-equiv=\"refresh\" content=\"1\""));
  follows.send(SIGINT);
  const Outcome ended = follows.wait();
  CHECK_MESSAGE(ended.exit_code == 0, ended.output);
  CHECK_FALSE(contains(read_text(run / "curves.html"), "http-equiv"));
}

TEST_CASE("runs show prints the command and the last metrics of a run") {
  const Outcome outcome = run_s2s({"runs", "show", run_of("a")});
  CHECK(outcome.exit_code == 0);
  CHECK_MESSAGE(contains(outcome.output, "s2s-run train"), outcome.output);
  CHECK(contains(outcome.output, "4 of 4"));
  CHECK(contains(outcome.output, "dev text_loss"));
}

TEST_CASE("runs show has the last step and validation of a file longer than a block") {
  const TemporaryFolder folder;
  const fs::path run = folder.path() / "long";
  fs::create_directories(run);
  std::string text = "{\"step\":1,\"validation\":\"dev\",\"loss\":9}\n";
  for (int step = 1; text.size() < 2'000'000; ++step) {
    text += "{\"step\":" + std::to_string(step) + ",\"loss\":" + std::to_string(step) + ".5}\n";
    if (step == 10) text += "{\"step\":10,\"validation\":\"dev\",\"loss\":7}\n";
  }
  const size_t last = text.rfind("\"loss\":") + 7;
  const std::string loss = text.substr(last, text.rfind('}') - last);
  std::ofstream(run / "metrics.jsonl") << text << "{\"step\":99,\"lo";
  const Outcome outcome = run_s2s({"runs", "show", "--json", run.string()});
  REQUIRE_MESSAGE(outcome.exit_code == 0, outcome.output);
  const json shown = json::parse(outcome.output)[0];
  CHECK(shown["last"]["loss"].dump() == loss);
  CHECK(shown["validations"]["dev"]["loss"] == 7);
  fs::resize_file(run / "metrics.jsonl", uintmax_t{1} << 38);
  const Outcome hole = run_s2s({"runs", "list", run.string()});
  CHECK(hole.exit_code == 5);
  CHECK_MESSAGE(contains(hole.output, "[io/line] " + run.string()), hole.output);
}

TEST_CASE("runs compare names the first step whose loss differs, and its batch") {
  const json equal = compared({"a", "again"});
  CHECK(equal["config"].empty());
  CHECK(equal["partings"][0]["step"].is_null());
  CHECK(equal["partings"][0]["common_steps"] == 4);

  // The first loss does not depend on the learning rate, the second one does.
  const json rate = compared({"a", "other_rate"});
  CHECK(rate["config"]["model.optimizer.lr"] == json{"1e-3", "2e-3"});
  CHECK(rate["partings"][0]["step"] == 2);
  CHECK(rate["partings"][0]["same_batch"] == true);
  CHECK(rate["partings"][0]["differs_first"][0]["key"] == "learning_rate");
  CHECK(rate["partings"][0]["differs_first"][0]["step"] == 1);

  const json batches = compared({"a", "other_batches"});
  CHECK(batches["partings"][0]["step"] == 1);
  CHECK(batches["partings"][0]["same_batch"] == false);
  const std::string command = batches["partings"][0]["batch_commands"][1];
  CHECK(command == "s2s-run data inspect " + run_of("other_batches") + "/config.yaml --batch 1");
  const Outcome shown =
      run_s2s({"data", "inspect", run_of("other_batches") + "/config.yaml", "--batch", "1"});
  CHECK_MESSAGE(contains(shown.output, "batch 1: 2 rows"), shown.output);
}

TEST_CASE("runs compare takes a tolerance and draws the curves of all runs") {
  const fs::path page = four_runs().folder.path() / "compare.html";
  fs::remove(page);
  const Outcome outcome = run_s2s({"runs", "compare", run_of("a"), run_of("other_rate"), "--rtol",
                                   "1", "--html", page.string()});
  REQUIRE_MESSAGE(outcome.exit_code == 0, outcome.output);
  CHECK_MESSAGE(contains(outcome.output, "equal losses in all 4 common steps"), outcome.output);
  const std::string html = read_text(page);
  const std::string begin = "id=\"report-data\">";
  const size_t at = html.find(begin) + begin.size();
  const json data = json::parse(html.substr(at, html.find("</script>", at) - at));
  std::vector<std::string> labels;
  for (const json& curve : data["curves"]) {
    if (curve["chart"] != "loss") continue;
    labels.push_back(curve["label"]);
    CHECK(curve["values"].size() == 4);
  }
  CHECK(labels == std::vector<std::string>{"a", "other_rate"});
  CHECK(contains(html, "model.optimizer.lr"));
  CHECK(contains(html, "function renderCurves"));
  CHECK(run_s2s({"runs", "compare", run_of("a"), run_of("again"), "--html", page.string()})
            .exit_code != 0);  // it exists
}

TEST_CASE("a folder without a run, or a single run, is an error that says what to give") {
  const TemporaryFolder empty;
  const Outcome none = run_s2s({"runs", "list", empty.path().string()});
  CHECK(none.exit_code == 5);
  CHECK_MESSAGE(contains(none.output, "[run/none]"), none.output);
  const Outcome single = run_s2s({"runs", "compare", run_of("a")});
  CHECK(single.exit_code == 2);
  CHECK_MESSAGE(contains(single.output, "give two or more"), single.output);
}
