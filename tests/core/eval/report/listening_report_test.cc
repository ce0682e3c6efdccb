#include "eval/report/listening_report.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "common/places.h"
#include "eval/report/report_json.h"
#include "eval/report/training_curves.h"
#include "plugins/built_metrics.h"
#include "s2s/error.h"

namespace s2s {
namespace {

namespace fs = std::filesystem;

fs::path fresh_folder(const std::string& name) {
  const fs::path folder = fs::path(s2s::test::binary_dir()) / "report_test" / name;
  fs::remove_all(folder);
  fs::create_directories(folder);
  return folder;
}

std::string text_of_file(const fs::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

ReportOptions built_options() {
  ReportOptions options;
  options.metrics = test::built_metrics();
  return options;
}

/// A tone from `start_s` to `end_s` in a clip of `duration_s`.
AudioClip tone(double duration_s, double start_s, double end_s, int64_t rate = 16000) {
  const auto at_rate = [&](double seconds) {
    return static_cast<int64_t>(seconds * static_cast<double>(rate));
  };
  at::Tensor samples_S = at::zeros({at_rate(duration_s)});
  const int64_t count = at_rate(end_s) - at_rate(start_s);
  samples_S.narrow(0, at_rate(start_s), count) += at::sin(at::arange(count) * 0.1) * 0.3;
  return {samples_S, rate};
}

ReportExample dialogue(const std::string& id, const std::string& heard) {
  ReportExample example;
  example.id = id;
  example.data_set = "held_out";
  example.turns = {{false, 0.4, 1.6, "is the light on"}, {true, 1.84, 3.2, "The light is on."}};
  example.texts.reference = "The light is on.";
  example.texts.text_channel = "the light is on";
  example.texts.heard_model = heard;
  example.user = tone(4, 0.4, 1.6);
  example.answer = tone(4, 1.92, 3.2, 22050);
  example.reference = tone(4, 1.84, 3.2, 22050);
  example.answer_tokens = {{22, TokenMark::Kind::kBos, ""},
                           {23, TokenMark::Kind::kText, " the"},
                           {40, TokenMark::Kind::kEos, ""}};
  example.numbers["text_loss"] = 0.25;
  return example;
}

/// The text between the tags of the script element with this id.
std::string script_of(const std::string& page, const std::string& id) {
  const std::string mark = "id=\"" + id + "\">";
  const size_t start = page.find(mark);
  REQUIRE(start != std::string::npos);
  const size_t end = page.find("</script>", start);
  return page.substr(start + mark.size(), end - start - mark.size());
}

TEST_CASE("a report folder holds the page, the predictions, the scores and the clips") {
  const fs::path folder = fresh_folder("whole");
  ListeningReport report(folder, built_options());
  const ExampleMeasures measures = report.add(dialogue("a/1", "the light is on"));
  report.add(dialogue("b", "the light was on"));
  CHECK(measures.turn_taking->takeovers == 1);
  const fs::path page_path = report.finish({"A run", {{"step", "100"}}, {}, ""});

  CHECK(page_path == folder / "index.html");
  CHECK_FALSE(fs::exists(folder / "index.html.unfinished"));
  for (const char* clip : {"user", "answer", "reference"}) {
    CHECK(fs::exists(folder / "wav" / ("0000_a_1." + std::string(clip) + ".wav")));
  }
  CHECK_FALSE(fs::exists(folder / "wav/0000_a_1.round_trip.wav"));

  std::istringstream lines(text_of_file(folder / "predictions.jsonl"));
  std::string first, second, third;
  std::getline(lines, first);
  std::getline(lines, second);
  CHECK_FALSE(std::getline(lines, third));
  const auto prediction = nlohmann::json::parse(second);
  CHECK(prediction["id"] == "b");
  CHECK(prediction["heard_model"] == "the light was on");
  CHECK(prediction["wer"]["model"] == 0.25);
  CHECK(prediction["files"]["answer"] == "wav/0001_b.answer.wav");

  const auto scores = nlohmann::json::parse(text_of_file(folder / "scores.json"));
  CHECK(scores["held_out"]["texts"]["model"]["wer"] == 0.125);
  CHECK(scores["held_out"]["turn_taking"]["model"]["takeover_rate"] == 1);
  CHECK(report.boards()[0]->numbers().at("asr_exact") == 0.5);
}

TEST_CASE("the numbers tell what the scorer makes of the reference and of the codec round trip") {
  ListeningReport report(fresh_folder("beside"), built_options());
  ReportExample example = dialogue("a", "the light was on");
  example.texts.heard_reference = "the light is on";
  example.texts.heard_round_trip = "a light is on";
  report.add(example);
  const auto numbers = report.boards()[0]->numbers();
  CHECK(numbers.at("asr_wer") == 0.25);
  CHECK(numbers.at("asr_wer_reference") == 0);
  CHECK(numbers.at("asr_cer_reference") == 0);
  CHECK(numbers.at("asr_cer") > 0);
  CHECK(numbers.at("asr_exact_reference") == 1);
  CHECK(numbers.at("asr_wer_round_trip") == 0.25);
  CHECK(numbers.at("txt_wer") == 0);
}

TEST_CASE("the page is one file with everything in it") {
  const fs::path folder = fresh_folder("page");
  ListeningReport report(folder, built_options());
  report.add(dialogue("a", "the light is off"));
  const std::string page = text_of_file(report.finish({"T < & run", {}, {}, ""}));
  CHECK(page.find("<title>T &lt; &amp; run</title>") != std::string::npos);
  CHECK(page.find("{{") == std::string::npos);
  for (const char* outside : {"http://", "https://", "<link", "src=\"wav", "@import"}) {
    const size_t at = page.find(outside);
    const bool namespace_only =
        at != std::string::npos && page.compare(at, 26, "http://www.w3.org/2000/svg") == 0;
    CHECK_MESSAGE((at == std::string::npos || namespace_only), outside);
  }
  const auto media = nlohmann::json::parse(script_of(page, "media-0"));
  CHECK(media["answer"]["audio"].get<std::string>().starts_with("data:audio/ogg;base64,T2dnU"));
  CHECK(media["user"]["picture"].get<std::string>().starts_with("data:image/png;base64,iVBOR"));
  CHECK(media["user"]["seconds"] == 4);
  const auto examples = nlohmann::json::parse(script_of(page, "report-examples"));
  CHECK(examples[0]["findings"] == nlohmann::json{"wrong words", "wrong in audio only"});
  CHECK(examples[0]["texts"]["model"]["edits"][3] == nlohmann::json{"s", "on", "off"});
  CHECK(examples[0]["tokens"]["answer"][1] == nlohmann::json{23, "text", " the"});
}

TEST_CASE("the page says what a reader of the scores should know") {
  ListeningReport report(fresh_folder("notes"));
  report.add(dialogue("a", "the light is off"));
  const std::string page =
      text_of_file(report.finish({"T", {}, {}, "", {"1 of 5 words cannot be heard: zebra"}}));
  CHECK(nlohmann::json::parse(script_of(page, "report-data"))["notes"] ==
        nlohmann::json{"1 of 5 words cannot be heard: zebra"});
}

TEST_CASE("texts cannot break out of the page, and broken UTF-8 cannot break it") {
  const fs::path folder = fresh_folder("hostile");
  ListeningReport report(folder, built_options());
  ReportExample example = dialogue("</script><script>alert(1)</script>", "{{data}} <!-- \xFF");
  example.turns[0].text = "{{script}}";
  report.add(example);
  const std::string page = text_of_file(report.finish({"{{media}}", {{"a", "</script>"}}, {}, ""}));
  CHECK(page.find("alert(1)</script>") == std::string::npos);
  const auto examples = nlohmann::json::parse(script_of(page, "report-examples"));
  CHECK(examples[0]["id"] == "</script><script>alert(1)</script>");
  CHECK(examples[0]["texts"]["model"]["raw"].get<std::string>().starts_with("{{data}} <!-- "));
  CHECK(nlohmann::json::parse(script_of(page, "report-data"))["title"] == "{{media}}");
}

TEST_CASE("a report without examples is still a page") {
  ListeningReport report(fresh_folder("empty"));
  const std::string page = text_of_file(report.finish({"Empty", {}, {}, "no/such/metrics.jsonl"}));
  CHECK(script_of(page, "report-examples") == "[]");
  CHECK(nlohmann::json::parse(script_of(page, "report-data"))["curves"].empty());
}

TEST_CASE("only the worst and a spread of the others carry their audio in the page") {
  ReportOptions options;
  options.max_embedded = 4;
  ListeningReport report(fresh_folder("many"), options);
  for (int i = 0; i < 12; ++i) {
    ReportExample example =
        dialogue(std::to_string(i), i == 7 ? "nothing of it" : "the light is on");
    example.reference = {};
    report.add(example);
  }
  const std::string page = text_of_file(report.finish({"Many", {}, {}, ""}));
  size_t embedded = 0;
  for (int i = 0; i < 12; ++i) {
    embedded += page.find("id=\"media-" + std::to_string(i) + "\"") != std::string::npos ? 1 : 0;
  }
  CHECK(embedded == 4);
  CHECK(page.find("id=\"media-7\"") != std::string::npos);
}

TEST_CASE("an example with nothing but a reference is listed") {
  ListeningReport report(fresh_folder("bare"));
  ReportExample example;
  example.id = "bare";
  example.data_set = "x";
  example.texts.reference = "hello";
  const ExampleMeasures measures = report.add(example);
  CHECK(measures.speech.duration_s == 0);
  CHECK_FALSE(measures.turn_taking.has_value());
  CHECK(report.boards()[0]->table().rows.empty());
  CHECK(report.boards()[0]->numbers().empty());
  report.finish({"Bare", {}, {}, ""});
}

TEST_CASE("a report that cannot be made names the folder") {
  const fs::path folder = fresh_folder("blocked");
  std::ofstream(folder / "file") << "in the way";
  CHECK_THROWS_WITH_AS(ListeningReport(folder / "file"), doctest::Contains("[eval/report-write]"),
                       Error);
}

TEST_CASE("curves are read by name and data set, thinned out, the later line winning") {
  const fs::path path = fresh_folder("curves") / "metrics.jsonl";
  std::ofstream file(path);
  for (int step = 0; step < 1000; ++step) {
    file << R"({"step": )" << step << R"(, "loss": )" << step << R"(, "name": "x", "bad": null})"
         << "\n";
  }
  file << R"({"step": 999, "loss": 5})"
       << "\n\n";
  file << R"({"step": 500, "validation": "val", "txt_bleu": 12.5})"
       << "\n";
  file << R"({"step": 501, "validation)";
  file.close();
  const auto curves = read_curves(path.string(), 100);
  REQUIRE(curves.size() == 2);
  CHECK(curves[0].name == "loss");
  CHECK(curves[0].steps.size() == 100);
  CHECK(curves[0].values[0] == 4.5);
  CHECK(curves[0].steps.back() == 999);
  CHECK(curves[0].values.back() == doctest::Approx((990 + 998) * 9 / 2.0 / 10 + 0.5));
  CHECK(curves[1].validation == "val");
  CHECK(curves[1].values == std::vector<double>{12.5});
}

TEST_CASE("a line in the middle of the metrics that is no JSON is named") {
  const fs::path path = fresh_folder("bad_curves") / "metrics.jsonl";
  std::ofstream(path) << "{\"step\": 1}\nnot json\n{\"step\": 2}\n";
  CHECK_THROWS_WITH_AS(read_curves(path.string()), doctest::Contains("metrics.jsonl:2"), Error);
  std::ofstream(path) << "{\"step\": 1}\n[]\n{\"step\": 2}\n";
  CHECK_THROWS_WITH_AS(read_curves(path.string()), doctest::Contains("[eval/metrics-line]"), Error);
}

}  // namespace
}  // namespace s2s
