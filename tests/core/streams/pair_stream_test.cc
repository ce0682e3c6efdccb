#include "streams/pair_stream.h"

#include <doctest/doctest.h>

#include "common/loader_cases.h"
#include "config/yaml_reader.h"
#include "core/streams/stream_of_spec.h"
#include "streams/input_stream.h"

using namespace s2s;
using namespace s2s::data;

namespace {

CutPtr spoken(const std::string& id, double start_s, double duration_s, const std::string& text) {
  auto cut = std::make_shared<Cut>();
  cut->id = id;
  cut->start_s = start_s;
  cut->duration_s = duration_s;
  cut->manifest = "cuts.jsonl";
  cut->line = 1;
  cut->recording = Recording{.id = id + "-" + text, .sources = {}, .sample_rate_hz = 8000};
  cut->recording->num_samples = static_cast<int64_t>((start_s + duration_s) * 8000);
  cut->recording->duration_s = start_s + duration_s;
  Supervision turn;
  turn.duration_s = duration_s / 2;
  turn.text = text;
  cut->supervisions = {turn};
  return cut;
}

StreamPtr stream(std::vector<CutPtr> cuts) {
  return std::make_unique<MemoryStream>(std::move(cuts));
}

StreamPtr dialogues(std::vector<CutPtr> sources, std::vector<CutPtr> targets) {
  return pairs(stream(std::move(sources)), stream(std::move(targets)), paired_dialogue, "test");
}

OpenedInput open_text(const std::string& yaml) {
  InputContext context;
  context.path = "ds";
  context.base_dir = loader_cases::folder();
  context.seed = [](const Config& node, const std::string& path) { return node.as_int(path); };
  Findings findings;
  const InputNode node = parse_input(parse_yaml(yaml, "c.yaml"), context, findings);
  findings.throw_if_any();
  return open_input_tree(node);
}

}  // namespace

TEST_CASE("a source and a target of one id are a dialogue") {
  const CutPtr cut = paired_dialogue(spoken("a", 0, 2, "hello"), spoken("a", 0, 1.5, "hola"));
  CHECK(cut->duration_s == 2);
  CHECK(cut->find_recording("target_audio")->id == "a-hola");
  CHECK(cut->custom_flag("target_audio_unaligned"));
  REQUIRE(cut->supervisions.size() == 2);
  CHECK(cut->supervisions[0].speaker == "user");
  CHECK(cut->supervisions[1].speaker == "agent");
  CHECK(cut->supervisions[1].text == "hola");
  const CutPtr longer = paired_dialogue(spoken("a", 0, 2, "hello"), spoken("a", 0, 3, "hola"));
  CHECK(longer->id == "a");
  CHECK(longer->duration_s == 3);
  CHECK(longer->supervisions.size() == 2);
  const CutPtr part = paired_dialogue(spoken("a", 1, 2, "hello"), spoken("a", 1, 2, "hola"));
  CHECK_FALSE(part->custom_flag("target_audio_unaligned"));
  CHECK_THROWS_WITH_AS(paired_dialogue(spoken("a", 0, 2, "x"), spoken("a", 1, 2, "y")),
                       doctest::Contains("[data/pairs]"), Error);
}

TEST_CASE("pairs go on from any position, and are made from their keys") {
  const auto open = [] {
    return dialogues({spoken("a", 0, 1, "x"), spoken("b", 0, 1, "x"), spoken("c", 0, 1, "x")},
                     {spoken("a", 0, 1, "y"), spoken("b", 0, 2, "y"), spoken("c", 0, 1, "y")});
  };
  const StreamPtr first = open();
  CHECK(first->size() == 3);
  CHECK(first->next()->cut->id == "a");
  const StreamPtr second = open();
  second->restore(first->state());
  CHECK(second->fingerprint() == first->fingerprint());
  for (const std::string id : {"b", "c"}) {
    const CutItem one = *first->next();
    const CutItem other = *second->next();
    CHECK(one.key == other.key);
    CHECK(second->make(one.key)->id == id);
    CHECK(second->make(one.key)->duration_s == other.cut->duration_s);
  }
  CHECK_FALSE(first->next().has_value());
}

TEST_CASE("sources and targets that are not in step are reported") {
  const StreamPtr other = dialogues({spoken("a", 0, 1, "x")}, {spoken("b", 0, 1, "y")});
  CHECK_THROWS_WITH_AS(other->next(), doctest::Contains("the target in its place is 'b'"), Error);
  const StreamPtr fewer = dialogues({spoken("a", 0, 1, "x")}, {});
  CHECK_THROWS_WITH_AS(fewer->next(), doctest::Contains("there is no target for it"), Error);
  const StreamPtr more = dialogues({}, {spoken("a", 0, 1, "y")});
  CHECK_THROWS_WITH_AS(more->next(), doctest::Contains("there is no source for it"), Error);
}

TEST_CASE("input_cfg has pairs of sources") {
  const std::string one = "{type: lhotse, cuts_path: first.jsonl}";
  const OpenedInput opened = open_text("{input_cfg: [{type: pairs, tags: {task: st}, input_cfg: [" +
                                       one + ", " + one + "]}]}");
  CHECK_FALSE(opened.is_tarred);
  const CutPtr cut = opened.stream->next()->cut;
  CHECK(cut->id == "first-0");
  CHECK(cut->find_recording("target_audio")->id == "first-0-user");
  CHECK(cut->supervisions.size() == 4);
  CHECK(cut->custom_text("task") == "st");
  CHECK_THROWS_WITH_AS(open_text("{input_cfg: [{type: pairs, input_cfg: [" + one + "]}]}"),
                       doctest::Contains("two: the source cuts, and the target cuts"), Error);
}
