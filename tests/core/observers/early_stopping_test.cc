#include "observers/early_stopping.h"

#include <doctest/doctest.h>

#include <cmath>

using namespace s2s;
using s2s::run::EarlyStopping;

namespace {

const std::vector<double> kValues = {4.0, 3.0, 3.2, 2.9, 2.8, 3.5, 5.0, 2.0, 1.0};

ValidationReport report_of(double value) {
  ValidationReport report;
  report.sets["dev"]["m"] = value;
  return report;
}

ExpManagerBlock manager(const std::string& mode, int64_t patience) {
  ExpManagerBlock block;
  block.create_early_stopping_callback = true;
  block.early_stopping_callback_params.monitor = "val_m";
  block.early_stopping_callback_params.mode = mode;
  block.early_stopping_callback_params.patience = patience;
  return block;
}

/// The validation that ends the run, or -1.
int ended_at(const ExpManagerBlock& block, const std::vector<double>& values = kValues) {
  bool has_ended = false;
  EarlyStopping stopping(block, [&](const std::string&) { has_ended = true; }, {});
  for (size_t i = 0; i < values.size(); ++i) {
    stopping.on_validation(report_of(values[i]));
    if (has_ended) return static_cast<int>(i);
  }
  return -1;
}

}  // namespace

TEST_CASE("runs end early at the validations at which Lightning ends them") {
  // Printed by tests/reference/nemo_experiment.py.
  CHECK(ended_at(manager("min", 2)) == 6);
  CHECK(ended_at(manager("max", 1)) == 1);
  ExpManagerBlock block = manager("min", 2);
  block.early_stopping_callback_params.min_delta = 0.5;
  CHECK(ended_at(block) == 3);
  block = manager("min", 9);
  block.early_stopping_callback_params.stopping_threshold = 2.2;
  CHECK(ended_at(block) == 7);
  block = manager("min", 9);
  block.early_stopping_callback_params.divergence_threshold = 4.5;
  CHECK(ended_at(block) == 6);
  block = manager("max", 9);
  block.early_stopping_callback_params.stopping_threshold = 4.5;
  CHECK(ended_at(block) == 6);
  CHECK(ended_at(manager("min", 9), {1.0, std::nan("")}) == 1);
  block = manager("min", 9);
  block.early_stopping_callback_params.check_finite = false;
  CHECK(ended_at(block, {1.0, std::nan("")}) == -1);
  block = manager("min", 0);
  block.create_early_stopping_callback = false;
  CHECK(ended_at(block) == -1);
}

TEST_CASE("early stopping goes on over a resume, and an ended run stays ended") {
  std::vector<std::string> reasons;
  const auto finish = [&](const std::string& reason) { reasons.push_back(reason); };
  EarlyStopping first(manager("min", 2), finish, {});
  first.on_validation(report_of(3.0));
  first.on_validation(report_of(3.5));
  EarlyStopping second(manager("min", 2), finish, {});
  second.restore(first.add_state(R"({"skipped_steps":0})"));
  CHECK(reasons.empty());
  second.on_validation(report_of(3.4));
  REQUIRE(reasons.size() == 1);
  CHECK(reasons[0].find("val_m has not improved in 2 validations (best 3") == 0);
  EarlyStopping third(manager("min", 2), finish, {});
  third.restore(second.add_state(R"({"skipped_steps":0})"));
  CHECK(reasons.size() == 2);
}

TEST_CASE("a metric that no validation has is one warning") {
  int num_warnings = 0;
  ExpManagerBlock block = manager("min", 0);
  block.early_stopping_callback_params.monitor = "val_other";
  EarlyStopping stopping(
      block, [](const std::string&) { FAIL("nothing was compared"); },
      [&](const std::string&) { ++num_warnings; });
  stopping.on_validation(report_of(1));
  stopping.on_validation(report_of(1));
  CHECK(num_warnings == 1);
}
