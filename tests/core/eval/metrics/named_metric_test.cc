#include "eval/metrics/named_metric.h"

#include <doctest/doctest.h>

#include "eval/metrics/data_set_board.h"
#include "s2s/config.h"

namespace s2s {
namespace {

/// Characters too many or too few; it tells how often it was made.
class Characters : public Metric {
 public:
  void add(const std::string& hypothesis, const std::string& reference) override {
    sum_ += static_cast<double>(hypothesis.size()) - static_cast<double>(reference.size());
  }
  double value() const override { return sum_; }

 private:
  double sum_ = 0;
};

const std::vector<NamedMetric> kMetrics = {
    {"acme_characters", [] { return std::make_unique<Characters>(); }}};

Config component(const std::string& name) {
  Config node = Config::map();
  node["name"] = Config::scalar(name);
  return node;
}

TEST_CASE("metrics are listed one or several, each under a name of its own") {
  CHECK(metric_components(Config()).empty());
  const auto one = metric_components(component("length"));
  REQUIRE(one.size() == 1);
  CHECK(one[0].first == "length");
  Config list = Config::list();
  for (const char* name : {"acme.length", "length", "acme.length"}) {
    list.items().push_back(component(name));
  }
  const auto several = metric_components(list);
  REQUIRE(several.size() == 3);
  CHECK(several[0].first == "acme_length");
  CHECK(several[1].first == "length");
  CHECK(several[2].first == "acme_length_2");
  CHECK(several[2].second.find("name")->text() == "acme.length");
}

TEST_CASE("a board has a plugin's metric for every source that had texts, as they were written") {
  DataSetBoard board("dev", kMetrics);
  ReportExample example;
  example.texts.reference = "It is on.";
  example.texts.text_channel = "It is on!!!";  // normalized, these would be equal
  board.add(example, {});
  example.texts.heard_model = "";
  board.add(example, {});
  const auto numbers = board.numbers();
  CHECK(numbers.at("txt_acme_characters") == 4);
  CHECK(numbers.at("asr_acme_characters") == -9);
  CHECK_FALSE(numbers.contains("asr_acme_characters_reference"));
  CHECK(numbers.at("txt_wer") == 0);
  const ScoreTable table = board.table();
  const auto row = std::find_if(table.rows.begin(), table.rows.end(),
                                [](const auto& r) { return r.label == "acme_characters"; });
  REQUIRE(row != table.rows.end());
  CHECK(row->cells[0] == -9);
  CHECK(row->cells[1] == 4);
  CHECK_FALSE(row->cells[2].has_value());
}

}  // namespace
}  // namespace s2s
