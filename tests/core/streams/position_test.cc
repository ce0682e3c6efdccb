#include <doctest/doctest.h>

#include <cmath>
#include <set>

#include "core/streams/random_spec.h"

namespace s2s::data {
namespace {

std::string id_of(const CutItem& item, const CutStream& stream) { return cut_of(item, stream)->id; }

// Passes over the stream's next items; their ids.
std::vector<std::string> next_ids(CutStream& stream, int64_t count) {
  std::vector<std::string> ids;
  while (std::cmp_less(ids.size(), count)) {
    const std::optional<CutItem> item = stream.next();
    if (!item) break;
    ids.push_back(id_of(*item, stream));
  }
  return ids;
}

void check_stop(const json& spec, int64_t epoch, int64_t stop) {
  CAPTURE(spec.dump());
  CAPTURE(stop);
  const StreamPtr stream = stream_of(spec);
  stream->rewind(epoch);
  next_ids(*stream, stop);
  const std::string state = stream->state().dump();
  const StreamPtr again = stream_of(spec);
  CHECK(again->fingerprint() == stream->fingerprint());
  const int64_t num_read = MemoryStream::num_read;
  const int64_t num_made = MemoryStream::num_made;
  again->restore(json::parse(state));
  CHECK(MemoryStream::num_read == num_read);
  CHECK(MemoryStream::num_made == num_made);
  CHECK(again->state().dump() == state);
  CHECK(next_ids(*again, 60) == next_ids(*stream, 60));
}

}  // namespace

TEST_CASE("streams go on from any position exactly, and read nothing to do so") {
  PythonRandom rng(1);
  for (int i = 0; i < 300; ++i) {
    const json spec = random_stream_spec(rng, static_cast<int>(rng.randint(1, 4)));
    check_stop(spec, rng.randint(0, 2), rng.randint(0, 150));
  }
}

TEST_CASE("an item is made again from its key") {
  PythonRandom rng(2);
  for (int i = 0; i < 150; ++i) {
    const json spec = random_stream_spec(rng, static_cast<int>(rng.randint(1, 4)));
    CAPTURE(spec.dump());
    const StreamPtr stream = stream_of(spec);
    const StreamPtr maker = stream_of(spec);
    for (int left = 40; left > 0; --left) {
      const std::optional<CutItem> item = stream->next();
      if (!item) break;
      if (!item->cut) continue;
      const CutPtr made = maker->make(item->key);
      CHECK(made->id == item->cut->id);
      CHECK(made->duration_s == item->cut->duration_s);
    }
  }
}

TEST_CASE("a pass is the same whatever was read before it") {
  PythonRandom rng(3);
  for (int i = 0; i < 100; ++i) {
    json spec = random_stream_spec(rng, 3);
    // Draws that run on depend on the passes before.
    const std::string text = spec.dump();
    if (text.find("draw") != std::string::npos) continue;
    CAPTURE(text);
    const StreamPtr stream = stream_of(spec);
    const StreamPtr other = stream_of(spec);
    next_ids(*stream, 70);
    for (const int64_t epoch : {0, 1, 4}) {
      stream->rewind(epoch);
      other->rewind(epoch);
      CHECK(next_ids(*stream, 100) == next_ids(*other, 100));
    }
  }
}

TEST_CASE("a stream refuses another's position") {
  const json two = {{"op", "mux"},
                    {"of",
                     {{{"op", "cuts"}, {"name", "a"}, {"count", 3}, {"seed", 1}},
                      {{"op", "cuts"}, {"name", "b"}, {"count", 3}, {"seed", 1}}}}};
  json one = two;
  one["of"].erase(1);
  const StreamPtr stream = stream_of(two);
  for (const json& state : {stream_of(one)->state(), json(), json::array(), json(7)}) {
    try {
      stream->restore(state);
      FAIL("accepted");
    } catch (const Error& error) {
      CHECK(error.id() == "data/position");
    }
  }
  for (const CutKey& key : {CutKey{}, CutKey{2, 0}, CutKey{-1, 0}}) {
    CHECK_THROWS_AS(stream->make(key), Error);
  }
}

TEST_CASE("fingerprints tell streams apart") {
  const auto fingerprint = [](const char* text) {
    return stream_of(json::parse(text))->fingerprint();
  };
  const char* cuts = R"({"op":"cuts","name":"a","count":3,"seed":1})";
  const auto of = [&](const std::string& head) {
    return fingerprint((head + R"(,"of":)" + cuts + "}").c_str());
  };
  std::set<uint64_t> all = {of(R"({"op":"repeat")"),
                            of(R"({"op":"repeat","preserve_id":true)"),
                            of(R"({"op":"shuffle","buffer":3)"),
                            of(R"({"op":"shuffle","buffer":3,"seed":1)"),
                            of(R"({"op":"map","suffix":"a")"),
                            of(R"({"op":"map","suffix":"b")"),
                            of(R"({"op":"first","count":2)"),
                            of(R"({"op":"first","count":3)")};
  CHECK(all.size() == 8);
  const StreamMaker maker = [&] { return stream_of(json::parse(cuts)); };
  const auto mixed = [&](const std::vector<double>& weights, int64_t seed) {
    std::vector<StreamPtr> sources;
    for (size_t i = 0; i < 2; ++i) sources.push_back(maker());
    return mux(std::move(sources), {weights, seed})->fingerprint();
  };
  CHECK(mixed({1, 2}, 0) != mixed({1, 3}, 0));
  CHECK(mixed({1, 2}, 0) != mixed({1, 2}, 1));
  CHECK(mixed({1, 1}, 0) == mixed({}, 0));
}

TEST_CASE("wrong weights are refused") {
  const json cuts = {{"op", "cuts"}, {"name", "a"}, {"count", 3}, {"seed", 1}};
  for (const std::vector<double>& weights :
       {std::vector<double>{1}, {0, 0}, {-1, 2}, {1, NAN}, {1, INFINITY}}) {
    try {
      std::vector<StreamPtr> sources;
      for (int i = 0; i < 2; ++i) sources.push_back(stream_of(cuts));
      mux(std::move(sources), {weights, 0});
      FAIL("accepted");
    } catch (const Error& error) {
      CHECK(error.id() == "data/weights");
    }
  }
}

TEST_CASE("mixing without end passes over empty sources and ends when all are") {
  const auto source = [](int count) {
    return [count] {
      return stream_of({{"op", "cuts"}, {"name", "a"}, {"count", count}, {"seed", 1}});
    };
  };
  const StreamPtr some = infinite_mux({source(0), source(2), source(0)}, {{}, 1, 2});
  CHECK(next_ids(*some, 500).size() == 500);
  const StreamPtr none = infinite_mux({source(0), source(0)}, {});
  CHECK(!none->next());
  CHECK(!none->next());
}

}  // namespace s2s::data
