// The trainer and the validator on several ranks, which are threads: what they agree on.

#include <doctest/doctest.h>

#include <cmath>

#include "eval/metrics/example_exchange.h"
#include "eval/validator.h"
#include "parallel/replicated_run.h"
#include "parallel/thread_ranks.h"
#include "s2s/error.h"
#include "train/step_sums.h"

using namespace s2s;
using namespace s2s::test;

namespace {

/// The objects of one rank of a run under `ddp`, or of a run of one process.
struct RankRun {
  RankRun(const Registries& registries, Communicator* world)
      : data(world == nullptr ? 0 : world->rank(), world == nullptr ? 1 : world->size()) {
    model.materialize(at::kCPU, at::kFloat, 3);
    ProcessContext context;
    context.world = world;
    strategy = registries.of<ParallelStrategy>()
                   .find(world == nullptr ? "single" : "ddp")
                   ->create(Config::map(), context);
    strategy->attach(model, {});
    auto parameters = strategy->optimizer_parameters(model);
    optimizer.attach(parameters, std::vector<double>(parameters.size(), 1.0));
  }
  TrainerParts parts() { return {&model, &data, strategy.get(), &optimizer, &schedule}; }

  struct PlainModel : FakeModel {  // threads share the random generator
    LossTerms training_loss(const Batch& batch, const StepContext& context) override {
      train(false);
      LossTerms terms = FakeModel::training_loss(batch, context);
      for (const std::string& name : more_parts) terms.parts[name] = terms.total.detach();
      return terms;
    }
    std::vector<std::string> more_parts;
  } model;
  DealtData data;
  FakeOptimizer optimizer;
  FakeSchedule schedule;
  std::unique_ptr<ParallelStrategy> strategy;
};

TrainerSettings settings(int64_t max_steps, int64_t accumulate) {
  TrainerSettings out;
  out.max_steps = max_steps;
  out.accumulate = accumulate;
  return out;
}

void load(BuiltPlugins& plugins) {
  plugins.registries().get<ParallelStrategy>("ddp");
  plugins.registries().get<ParallelStrategy>("single");
}

std::vector<std::string> on_ranks(
    int64_t size, const std::function<void(RankRun& run, Communicator& world)>& body) {
  BuiltPlugins plugins;
  load(plugins);
  return run_thread_ranks(size, [&](Communicator& world) {
    RankRun run(plugins.registries(), &world);
    body(run, world);
  });
}

const std::vector<std::string> kNothingThrown3(3);

/// A data set whose batches are numbered.
class NumberedSet : public DataSource {
 public:
  NumberedSet(int64_t count, const DataShare& share) : count_(count), share_(share) {}
  std::optional<Batch> next() override {
    const int64_t number = share_.rank + share_.size * position_++;
    if (number >= count_) return std::nullopt;
    Batch batch;
    batch.source_audio_BS = at::full({1, 1}, static_cast<double>(number));
    return batch;
  }
  std::string state() const override { return {}; }
  void restore(const std::string&) override {}
  std::vector<std::string> texts() override { return {}; }

 private:
  int64_t count_;
  DataShare share_;
  int64_t position_ = 0;
};

/// Its metric is the mean of the squares of the elements.
struct CountingModel : FakeModel {
  MetricSums evaluate(const Batch& batch) override {
    const double number = batch.source_audio_BS.item<double>();
    ++num_runs;
    MetricSums sums = {{"square", {number * number, 1}}};
    if (number == 1) sums["rare"] = {std::nan(""), 1};  // a name that one rank alone has
    return sums;
  }
  int64_t num_runs = 0;
};

/// Says that the ranks of another strategy split the model.
class SplitStrategy : public FakeStrategy {
 public:
  explicit SplitStrategy(ParallelStrategy& inner) : inner_(inner) {}
  MeshShape mesh() const override {
    MeshShape shape = inner_.mesh();
    std::swap(shape.replicate, shape.shard);
    return shape;
  }
  int64_t data_rank() const override { return inner_.data_rank(); }
  at::Tensor reduce_over_data(const at::Tensor& values) override {
    return inner_.reduce_over_data(values);
  }
  std::vector<std::string> gather_texts(const std::string& text) override {
    return inner_.gather_texts(text);
  }

 private:
  ParallelStrategy& inner_;
};

Validator::Sets sets_of(const std::map<std::string, int64_t>& counts) {
  Validator::Sets sets;
  for (const auto& [name, count] : counts) {
    sets[name] = [count = count](const DataShare& share) {
      return std::make_unique<NumberedSet>(count, share);
    };
  }
  return sets;
}

}  // namespace

TEST_CASE("every rank reports the numbers of one process that accumulates as many batches") {
  BuiltPlugins plugins;
  load(plugins);
  RankRun one(plugins.registries(), nullptr);
  Recorder expected;
  Trainer trainer(settings(5, 6), one.parts());
  trainer.add_observer(&expected);
  trainer.run(0);
  const auto thrown = on_ranks(3, [&](RankRun& run, Communicator&) {
    Recorder found;
    Trainer rank_trainer(settings(5, 2), run.parts());
    rank_trainer.add_observer(&found);
    rank_trainer.run(0);
    for (size_t i = 0; i < 5; ++i) {
      const StepReport& a = expected.steps[i];
      const StepReport& b = found.steps.at(i);
      const bool counts = a.frames == b.frames && a.padded_frames == b.padded_frames &&
                          a.tokens == b.tokens && a.batch_size == b.batch_size;
      const bool losses = std::abs(a.loss / b.loss - 1) < 1e-5 &&
                          std::abs(a.parts.at("text_loss") / b.parts.at("text_loss") - 1) < 1e-5 &&
                          std::abs(a.grad_norm / b.grad_norm - 1) < 1e-5;
      if (!counts || !losses) throw std::runtime_error("step " + std::to_string(i));
    }
  });
  CHECK(thrown == kNothingThrown3);
}

TEST_CASE(
    "when one rank is asked to stop, or says that it is time to save, all do after that step") {
  std::vector<std::vector<int64_t>> checkpoints(3);
  const auto thrown = on_ranks(3, [&](RankRun& run, Communicator& world) {
    Recorder recorder;
    TrainerSettings timed = settings(100, 1);
    timed.saves.every_s = world.rank() == 1 ? 1e-9 : 0;
    Trainer trainer(timed, run.parts());
    trainer.add_observer(&recorder);
    trainer.save_checkpoint = [](int64_t) { return std::string("x"); };
    trainer.stop_requested = [&] { return world.rank() == 2 && recorder.steps.size() == 3; };
    if (trainer.run(0) != Trainer::End::kStopped) throw std::runtime_error("not stopped");
    checkpoints[static_cast<size_t>(world.rank())] = recorder.checkpoints;
  });
  CHECK(thrown == kNothingThrown3);
  CHECK(checkpoints == std::vector<std::vector<int64_t>>(3, {1, 2, 3, 4}));
}

TEST_CASE("a loss that is not finite on one rank ends all, with that rank's batch") {
  const auto thrown = on_ranks(3, [&](RankRun& run, Communicator& world) {
    run.model.poison = world.rank() == 1;
    Trainer(settings(3, 2), run.parts()).run(0);
  });
  for (const std::string& one : thrown) {
    CAPTURE(one);
    CHECK(one.find("[numerics/not-finite] the loss of step 1 is nan") == 0);
    CHECK(one.find("\n  data rank 1: row1\n  data rank 1: row4") != std::string::npos);
    CHECK(one.find("data rank 0") == std::string::npos);
  }
}

TEST_CASE("parts of the loss with other names on one rank end all with one message") {
  const std::string expected = "[comm/loss-parts] the loss terms of step 1 differ between ranks";
  for (const bool is_longer : {false, true}) {  // as many names, or more
    const auto thrown = on_ranks(3, [&](RankRun& run, Communicator& world) {
      run.model.more_parts = {world.rank() == 1 ? "turn_loss" : "audio_loss"};
      if (is_longer && world.rank() == 1) run.model.more_parts.push_back("audio_loss");
      try {
        Trainer(settings(3, 2), run.parts()).run(0);
      } catch (const Error& error) {
        if (error.exit_code() != ExitCode::kCommunication) throw std::runtime_error("exit code");
        throw;
      }
    });
    for (const std::string& one : thrown) {
      CAPTURE(one);
      CHECK(one.find(expected) == 0);
      CHECK(one.find("\n  data ranks 0, 2: audio_loss, text_loss\n") != std::string::npos);
      const char* const second = is_longer ? "data rank 1: audio_loss, text_loss, turn_loss\n"
                                           : "data rank 1: text_loss, turn_loss\n";
      CHECK(one.find(second) != std::string::npos);
    }
  }
}

TEST_CASE("any number of parts of the loss is added up over the ranks") {
  for (const int64_t count : {31, 32, 100}) {  // beside text_loss
    const auto thrown = on_ranks(3, [&](RankRun& run, Communicator&) {
      for (int64_t i = 0; i < count; ++i) {
        run.model.more_parts.push_back("part" + std::to_string(i));
      }
      Recorder recorder;
      Trainer trainer(settings(2, 1), run.parts());
      trainer.add_observer(&recorder);
      trainer.run(0);
      const StepReport& step = recorder.steps.at(1);
      if (static_cast<int64_t>(step.parts.size()) != count + 1) throw std::runtime_error("count");
      for (const auto& [name, value] : step.parts) {
        if (std::abs(value / step.loss - 1) > 1e-6) throw std::runtime_error(name);
      }
    });
    CHECK(thrown == kNothingThrown3);
  }
}

TEST_CASE("gradients that are not finite on one rank skip the update on all") {
  const auto thrown = on_ranks(3, [&](RankRun& run, Communicator& world) {
    run.model.poison_gradients = world.rank() == 1;
    Recorder recorder;
    TrainerSettings some = settings(5, 1);
    some.max_skipped = 1;
    Trainer trainer(some, run.parts());
    trainer.add_observer(&recorder);
    const at::Tensor before = run.model.named_parameters()[0].tensor->detach().clone();
    try {
      trainer.run(0);
    } catch (...) {
      const at::Tensor after = run.model.named_parameters()[0].tensor->detach();
      if (!after.equal(before)) throw std::runtime_error("an update was made");
      if (recorder.skipped.size() != 1) throw std::runtime_error("not skipped once");
      throw;
    }
  });
  for (const std::string& one : thrown) {
    CAPTURE(one);
    CHECK(one.find("[numerics/not-finite] the gradient norm of step 2 is nan") == 0);
    CHECK(one.find("data rank 2: row5") != std::string::npos);
  }
}

TEST_CASE("data that ends on one rank ends the run on all") {
  const auto thrown = on_ranks(3, [&](RankRun& run, Communicator& world) {
    if (world.rank() == 2) {
      while (run.data.next()) {
      }
    }
    Trainer(settings(3, 1), run.parts()).run(0);
  });
  for (const std::string& one : thrown) CHECK(one.find("[data/exhausted]") == 0);
}

TEST_CASE("texts of all data ranks reach every rank in order") {
  const auto thrown = on_ranks(3, [&](RankRun& run, Communicator& world) {
    const std::string mine = world.rank() == 1 ? "" : "\xffrank" + std::to_string(world.rank());
    const auto all = run.strategy->gather_texts(mine);
    if (all != std::vector<std::string>{"\xffrank0", "", "\xffrank2"}) {
      throw std::runtime_error("other texts");
    }
    if (run.strategy->gather_texts("") != std::vector<std::string>(3)) {
      throw std::runtime_error("not empty");
    }
  });
  CHECK(thrown == kNothingThrown3);
}

TEST_CASE("every example of a validation counts once, whatever the number of ranks and batches") {
  const Validator::Sets sets = sets_of({{"five", 5}, {"one", 1}, {"seven", 7}});
  for (const auto& [limit, five] : {std::pair{0, 30.0 / 5}, {4, 14.0 / 4}}) {
    const auto thrown = on_ranks(3, [&, limit = limit, five = five](RankRun& run, Communicator&) {
      CountingModel model;
      ValidationSettings some;
      some.limit_batches = limit;
      some.strategy = run.strategy.get();
      const ValidationReport report = Validator(model, sets, some).run(9);
      if (report.sets.at("five").at("square") != five) throw std::runtime_error("five");
      if (report.sets.at("one").at("square") != 0) throw std::runtime_error("one");
      const double seven = limit == 0 ? 91.0 / 7 : 14.0 / 4;
      if (report.sets.at("seven").at("square") != seven) throw std::runtime_error("seven");
      if (!std::isnan(report.sets.at("five").at("rare"))) throw std::runtime_error("rare");
    });
    CHECK(thrown == kNothingThrown3);
  }
}

TEST_CASE("ranks that split a model run as many validation batches each") {
  const Validator::Sets sets = sets_of({{"empty", 0}, {"four", 4}, {"one", 1}});
  std::vector<int64_t> num_runs(3);
  const auto thrown = on_ranks(3, [&](RankRun& run, Communicator& world) {
    CountingModel model;
    SplitStrategy split(*run.strategy);
    ValidationSettings some;
    some.strategy = &split;
    const ValidationReport report = Validator(model, sets, some).run(9);
    if (report.sets.at("four").at("square") != 14.0 / 4) throw std::runtime_error("four");
    if (report.sets.at("one").at("square") != 0) throw std::runtime_error("one");
    if (report.sets.contains("empty")) throw std::runtime_error("empty");
    num_runs[static_cast<size_t>(world.rank())] = model.num_runs;
  });
  CHECK(thrown == kNothingThrown3);
  CHECK(num_runs == std::vector<int64_t>(3, 3));  // two rounds of four, one of one
}

TEST_CASE("examples of all ranks come to rank 0 as they are, in the order of one process") {
  const auto example_of = [](int64_t number) {
    ReportExample e;
    e.id = "row" + std::to_string(number);
    e.data_set = number % 2 == 0 ? "b" : "a";
    e.batch = number / 2;
    e.turns = {{true, 0.5, 1.25, "caf\xc3\xa9"}};
    e.texts = {.reference = "yes", .heard_model = ""};
    e.heard_words[TextSource::kModelAudio] = {{"no", 0.5, 0.75}};
    e.answer = {at::arange(number, at::kFloat) / 3, 16000};
    e.answer_tokens = {{3, TokenMark::Kind::kEos, " x"}};
    e.numbers["loss"] = std::nan("");
    return e;
  };
  const auto thrown = on_ranks(3, [&](RankRun& run, Communicator& world) {
    std::vector<ReportExample> examples;
    for (int64_t number = world.rank(); number < 7 && world.rank() < 2; number += 2) {
      examples.push_back(example_of(number));  // rank 2 has none
    }
    gather_examples(world, run.strategy->mesh(), examples);
    if (world.rank() > 0) {
      if (!examples.empty()) throw std::runtime_error("kept");
      return;
    }
    std::string order;
    for (const ReportExample& e : examples) order += e.id.substr(3) + " ";
    if (order != "1 0 3 2 5 4 6 ") throw std::runtime_error(order);
    const ReportExample& found = examples[4];
    const ReportExample expected = example_of(5);
    const bool same = found.turns[0].text == expected.turns[0].text && found.turns[0].is_agent &&
                      found.turns[0].end_s == 1.25 && found.texts.reference == "yes" &&
                      found.texts.heard_model == "" && !found.texts.text_channel &&
                      found.answer.samples_S.equal(expected.answer.samples_S) &&
                      found.answer.sample_rate_hz == 16000 && !found.user.samples_S.defined() &&
                      found.answer_tokens[0].frame == 3 && found.answer_tokens[0].text == " x" &&
                      found.answer_tokens[0].kind == TokenMark::Kind::kEos &&
                      std::isnan(found.numbers.at("loss"));
    const bool heard = found.heard_words.begin()->second[0].end_s == 0.75;
    if (!same || !heard) throw std::runtime_error("changed on the way");
  });
  CHECK(thrown == kNothingThrown3);
}

TEST_CASE("buffers that training changes become their mean, others stay as they are") {
  struct Buffered : Block {
    Buffered() {
      register_buffer("mean", mean);
      register_buffer("table", table);
      register_buffer("scratch", scratch, /*persistent=*/false);
    }
    void reset_buffers() override {
      mean = at::zeros({2, 2});
      table = at::full({1}, 1.0 / 3);
      scratch = at::zeros({1});
    }
    at::Tensor mean, table, scratch;
  };
  const auto thrown = on_ranks(3, [&](RankRun& run, Communicator& world) {
    Buffered model;
    model.materialize(at::kCPU, at::kFloat, 1);
    TrainedBuffers buffers(model, *run.strategy);
    model.mean.add_(static_cast<double>(world.rank()));
    model.scratch.fill_(static_cast<double>(world.rank()));
    buffers.average(*run.strategy);
    if (!model.mean.equal(at::ones({2, 2}))) throw std::runtime_error("mean");
    if (!model.table.equal(at::full({1}, 1.0 / 3))) throw std::runtime_error("table");
    if (model.scratch.item<double>() != static_cast<double>(world.rank())) {
      throw std::runtime_error("scratch");
    }
  });
  CHECK(thrown == kNothingThrown3);
}
