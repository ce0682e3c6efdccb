// The user-text head of the model duplex_s2s, and what uses its words.

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include "plugins/duplex_s2s/duplex_fixture.h"

using namespace s2s;
using namespace s2s::test;

TEST_CASE("the user-text head is off unless asked for, and then has a loss and accuracies") {
  DuplexFixture f;
  const Batch batch = make_batch({12});
  CHECK(losses(*f.model(), batch).count("user_text_loss") == 0);
  const auto model = f.model(R"("user_text": {"enabled": true, "loss_weight": 2})");
  const auto values = losses(*model, batch);
  CHECK(values.at("total") == near(3 * values.at("text_loss") + 4 * values.at("audio_loss") +
                                   2 * values.at("user_text_loss")));
  const MetricSums sums = model->evaluate(batch);
  CHECK(sums.at("user_text_nonpad_accuracy").second == 2);
  CHECK(sums.at("user_text_pad_accuracy").second == 10);
}

TEST_CASE("what the reference does not have is off, and learns when it is on") {
  DuplexFixture f;
  for (const NamedTensor& p : f.model()->named_parameters()) {
    CHECK_FALSE(p.name.starts_with("user_text."));
    CHECK_FALSE(p.name.starts_with("embed_held_text"));
  }
  const auto model = f.model(kExtras);
  model->train(true);
  model->training_loss(make_batch({12}), {}).total.backward();
  for (const NamedTensor& p : model->named_parameters()) {
    CAPTURE(p.name);
    CHECK(learns(*model, p.name));
  }
}

TEST_CASE(
    "copied and held text are in the text's state, take part in training and can be the truth") {
  DuplexFixture f;
  const Batch batch = make_batch({12});
  const std::string copy =
      R"("text_hold": true, "user_text": {"enabled": true, "copy": true, "truth_share": )";
  const auto heard = f.model(copy + "0}");
  const auto truth = f.model(copy + "1}");
  CHECK(losses(*heard, batch).at("text_loss") != losses(*truth, batch).at("text_loss"));
  CHECK(heard->evaluate(batch).at("text_loss") == truth->evaluate(batch).at("text_loss"));
  truth->training_loss(batch, at_step(0)).total.backward();
  CHECK(learns(*truth, "user_text.copy.query"));
  CHECK(learns(*truth, "user_text.copy.key"));
  CHECK(learns(*truth, "user_text.copy.recency"));
  CHECK(learns(*truth, "embed_held_text"));
}

TEST_CASE("options that need the user's words fed back are refused without them") {
  DuplexFixture f;
  const std::string head = std::string(kCodes) + R"(, "user_text": {"enabled": true, )";
  CHECK(f.id_of_making(head + R"("feed_back": false, "copy": true})") == "model/user-text");
  CHECK(f.id_of_making(head + R"("feed_back": false, "truth_share": 0.5})") == "model/user-text");
  CHECK(f.id_of_making(head + R"("feed_back": false})") == "no error");
  CHECK(f.id_of_making(std::string(kCodes) + R"(, "user_text": {"copy": true})") == "no error");
}

TEST_CASE("copying with a head that is not tied to the embedding is warned of") {
  DuplexFixture f;
  const std::string copy = R"("user_text": {"enabled": true, "copy": true})";
  f.model(copy);
  REQUIRE(f.warnings.size() == 1);
  CHECK(f.warnings[0].find("[model/user-text]") != std::string::npos);
  f.warnings.clear();
  f.is_tied = true;
  f.model(copy);
  CHECK(f.warnings.empty());
}
