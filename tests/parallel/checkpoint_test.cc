// Checkpoints that several ranks write together, read on every other layout.

#include "checkpoint/checkpoint.h"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <limits>

#include "common/contains.h"
#include "common/temporary_folder.h"
#include "parallel/cut_model.h"
#include "parallel/thread_ranks.h"
#include "s2s/nn/weights.h"
#include "weights/checkpoint_files.h"
#include "weights/safetensors.h"
#include "weights/verify_weights.h"

using namespace s2s::test;
namespace fs = std::filesystem;
using s2s::CheckpointFolder;
using s2s::CheckpointSettings;

namespace {

struct SavedLayout {
  const char* name;
  Cut cut;
  int64_t size;
};
constexpr SavedLayout kLayouts[] = {
    {"one process", Cut::kReplicated, 1}, {"replicated on 2", Cut::kReplicated, 2},
    {"flat on 2", Cut::kFlat, 2},         {"flat on 3", Cut::kFlat, 3},
    {"flat on 4", Cut::kFlat, 4},         {"columns on 2", Cut::kColumns, 2},
    {"columns on 4", Cut::kColumns, 4},   {"columns by flat on 4", Cut::kFlatColumns, 4},
};

CheckpointSettings settings_of(const SavedLayout& layout, s2s::Communicator* world) {
  CheckpointSettings settings;
  settings.world = world;
  settings.mesh.shard = layout.size;
  return settings;
}

std::vector<std::string> on_ranks(int64_t size,
                                  const std::function<void(s2s::Communicator*)>& body) {
  if (size > 1) return run_thread_ranks(size, [&](s2s::Communicator& world) { body(&world); });
  try {
    body(nullptr);
  } catch (const std::exception& error) {
    return {error.what()};
  }
  return {""};
}

int64_t rank_of(const s2s::Communicator* world) { return world == nullptr ? 0 : world->rank(); }

/// One rank of a run that saves.
struct SavingRank {
  SavingRank(const SavedLayout& layout, s2s::Communicator* world, int64_t seed)
      : parts(cut_parts(model, {layout.cut, rank_of(world), layout.size}, seed)),
        optimizer(parts, seed) {}
  CutModel model;
  std::vector<s2s::LocalShard> parts;
  CutOptimizer optimizer;
};

/// Saves as step `seed`, with every number that of `seed`; returns what each rank threw.
std::vector<std::string> save(const std::string& folder, const SavedLayout& layout, int64_t seed,
                              const std::function<void(SavingRank&, int64_t rank)>& change = {}) {
  return on_ranks(layout.size, [&](s2s::Communicator* world) {
    SavingRank rank(layout, world, seed);
    if (change) change(rank, rank_of(world));
    CheckpointFolder(folder, {}, settings_of(layout, world))
        .save(rank.parts, rank.optimizer, {seed, "position " + std::to_string(seed)});
  });
}

void require_saved(const std::vector<std::string>& thrown) {
  for (const std::string& what : thrown) REQUIRE_MESSAGE(what.empty(), what);
}

/// Loads all ranks of a layout; what is wrong with the elements, "" for nothing.
std::string load(const std::string& checkpoint, const SavedLayout& layout, int64_t seed) {
  for (int64_t rank = 0; rank < layout.size; ++rank) {
    CutModel model;
    const auto parts = cut_parts(model, {layout.cut, rank, layout.size}, seed + 100);
    CutOptimizer optimizer(parts, seed + 100);
    s2s::load_model(checkpoint, model, parts);
    s2s::MeshShape mesh;
    mesh.shard = layout.size;
    const auto state = s2s::load_run_state(checkpoint, optimizer, parts, {mesh, rank});
    const std::string wrong = find_wrong(parts, seed) + optimizer.find_wrong(seed);
    if (!wrong.empty()) return std::to_string(rank) + ": " + wrong;
    if (state.data_state != "position " + std::to_string(seed)) return "another position";
  }
  return "";
}

void flip(const fs::path& file, int64_t offset) {
  std::fstream bytes(file, std::ios::in | std::ios::out | std::ios::binary);
  bytes.seekg(offset);
  const int byte = bytes.get();
  bytes.seekp(offset);
  bytes.put(static_cast<char>(byte ^ 1));
}

std::string thrown_by(const std::function<void()>& action) {
  try {
    action();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("what one layout saves every other loads, bit for bit") {
  for (const SavedLayout& from : kLayouts) {
    const TemporaryFolder folder;
    require_saved(save(folder.path(), from, 7));
    CHECK(fs::read_symlink(folder / "last") == "step=7");
    CHECK_FALSE(fs::exists(folder / ".step=7.partial"));
    const auto verdict = s2s::verify_checkpoint(folder / "step=7");
    CHECK(verdict.num_tensors == 7 + 3 * 6);
    for (const std::string& finding : verdict.findings) CHECK_MESSAGE(false, finding);
    for (const SavedLayout& to : kLayouts) {
      const std::string wrong = load(folder / "last", to, 7);
      CHECK_MESSAGE(wrong.empty(), from.name << " to " << to.name << ": " << wrong);
    }
  }
}

TEST_CASE("each rank writes its own elements and no rank another's") {
  const TemporaryFolder folder;
  require_saved(save(folder.path(), {"", Cut::kFlatColumns, 4}, 1));
  int64_t elements = 0;
  for (int64_t rank = 0; rank < 4; ++rank) {
    const std::string name = "model-0000" + std::to_string(rank) + "-of-00004.safetensors";
    const auto file = s2s::SafetensorsFile::open(folder / ("step=1/" + name));
    CHECK(file.metadata().at("s2s.num_ranks") == "4");
    if (file.contains("big")) elements += file.tensor("big").numel();
    CHECK(file.contains("count") == (rank == 0));
  }
  CHECK(elements == 1100 * 1024);
  // A row-wise cut is one run, not one for each row.
  CHECK(fs::file_size(folder / "step=1/index.json") < 20000);
}

TEST_CASE("one process keeps its files' names, and whole tensors in them") {
  const TemporaryFolder folder;
  require_saved(save(folder.path(), {"", Cut::kReplicated, 1}, 3));
  const auto model = s2s::SafetensorsFile::open(folder / "step=3/model.safetensors");
  CHECK(model.tensor("wide").sizes() == at::IntArrayRef({3, 17}));
  CHECK(model.metadata().empty());
  CHECK(fs::exists(folder / "step=3/optimizer.safetensors"));
  CHECK(fs::exists(folder / "step=3/random.safetensors"));
  // One from before there was an index is read without.
  fs::remove(folder / "step=3/index.json");
  std::ofstream(folder / "step=3/state.json")
      << R"({"format": 1, "steps_done": 3, "data_state": "position 3"})";
  CHECK(load(folder / "step=3", {"", Cut::kColumns, 4}, 3) == "");
}

TEST_CASE("a rank that cannot save makes every rank say so, and the one before stays") {
  const SavedLayout layout{"", Cut::kFlat, 3};
  const TemporaryFolder folder;
  require_saved(save(folder.path(), layout, 1));
  struct Case {
    const char* message;
    std::function<void(SavingRank&)> break_it;
  };
  const Case cases[] = {
      {"[numerics/not-finite] rank 2: after step 2, wide is inf at [2, 3]",
       [](SavingRank& rank) {
         // Of 51 elements rank 2 has those from 22 on.
         rank.parts[1].tensor[15] = std::numeric_limits<float>::infinity();
       }},
      {"[numerics/not-finite] rank 2: after step 2, wide.bias is nan at [2]",
       [](SavingRank& rank) {
         rank.parts[2].tensor[1] = std::numeric_limits<float>::quiet_NaN();  // of 3 it has 1 and 2
       }},
      {"[checkpoint/write] rank 2: the checkpoint",
       [](SavingRank& rank) {
         rank.parts[1].tensor = rank.parts[1].tensor.to(at::kComplexDouble);
       }},
  };
  for (const Case& c : cases) {
    const auto thrown = save(folder.path(), layout, 2, [&](SavingRank& rank, int64_t number) {
      if (number == 2) c.break_it(rank);
    });
    for (const std::string& what : thrown) CHECK_MESSAGE(contains(what, c.message), what);
    CHECK_FALSE(fs::exists(folder / "step=2"));
    CHECK_FALSE(fs::exists(folder / ".step=2.partial"));
    CHECK(load(folder / "last", layout, 1) == "");
  }
}

TEST_CASE("parts that leave a number out, or hold one twice, are refused") {
  const TemporaryFolder folder;
  const SavedLayout layout{"", Cut::kFlat, 2};
  const auto left_out = save(folder.path(), layout, 1, [](SavingRank& rank, int64_t number) {
    if (number == 1) rank.parts[1].is_owner = false;
  });
  for (const std::string& what : left_out) {
    CHECK_MESSAGE(contains(what, "tensor 'wide': no rank has element 12"), what);
  }
  const auto twice = save(folder.path(), {"", Cut::kReplicated, 2}, 1,
                          [](SavingRank& rank, int64_t) { rank.parts[1].is_owner = true; });
  for (const std::string& what : twice) {
    CHECK_MESSAGE(contains(what, "tensor 'wide': two ranks have element 0"), what);
  }
  CHECK(CheckpointFolder(folder.path(), {}).newest() == "");
}

TEST_CASE("another model and another optimizer are refused with what differs") {
  const TemporaryFolder folder;
  require_saved(save(folder.path(), {"", Cut::kFlat, 2}, 1));
  CutModel model;
  auto parts = cut_parts(model, {Cut::kColumns, 1, 4}, 5);
  CutOptimizer optimizer(parts, 5);
  parts[1].sizes = {3, 18};
  const std::string sizes = thrown_by([&] { s2s::load_model(folder / "step=1", model, parts); });
  CHECK(contains(sizes, "[checkpoint/model]"));
  CHECK(contains(sizes,
                 "different size: wide is [3, 17] in the checkpoint and [3, 18] in the model"));
  CHECK(thrown_by([&] { s2s::load_run_state(folder / "step=1", optimizer, parts); }) ==
        "another size: wide.exp_avg");
}

TEST_CASE("damage is one message with the file, and nothing has been loaded then") {
  const TemporaryFolder folder;
  const SavedLayout layout{"", Cut::kFlat, 2};
  require_saved(save(folder.path(), layout, 1));
  const fs::path step = folder / "step=1", kept = folder / "kept";
  fs::copy(step, kept, fs::copy_options::recursive);
  const std::string shard = "model-00001-of-00002.safetensors";
  struct Case {
    const char* message;
    std::function<void()> break_it;
  };
  const Case cases[] = {
      {"[checkpoint/damaged]", [&] { flip(step / shard, 3'000'000); }},
      {"[checkpoint/damaged]", [&] { fs::resize_file(step / shard, 1000); }},
      {"[checkpoint/incomplete]", [&] { fs::remove(step / shard); }},
      {"[checkpoint/incomplete]", [&] { fs::remove(step / "index.json"); }},
      {"[checkpoint/damaged]", [&] { flip(step / "index.json", 300); }},
      {"[checkpoint/damaged]", [&] { fs::resize_file(step / "index.json", 300); }},
  };
  for (const Case& c : cases) {
    c.break_it();
    CutModel model;
    const auto parts = cut_parts(model, {Cut::kColumns, 1, 2}, 50);
    const std::string what = thrown_by([&] { s2s::load_model(step.string(), model, parts); });
    CHECK_MESSAGE(contains(what, c.message), what);
    CHECK_MESSAGE((contains(what, shard) || contains(what, "index.json")), what);
    CHECK(find_wrong(parts, 50) == "");
    CHECK(s2s::verify_checkpoint(step.string()).findings.size() == 1);
    fs::remove_all(step);
    fs::copy(kept, step, fs::copy_options::recursive);
  }
  // What ranks of another run left is named, too.
  fs::copy(step / shard, step / "model-00002-of-00003.safetensors");
  const auto verdict = s2s::verify_checkpoint(step.string());
  REQUIRE(verdict.findings.size() == 1);
  CHECK(contains(verdict.findings[0],
                 "model-00002-of-00003.safetensors does not belong to this checkpoint"));
}

TEST_CASE("a rank reads the files that hold its elements and no others") {
  const TemporaryFolder folder;
  const SavedLayout layout{"", Cut::kFlat, 4};
  require_saved(save(folder.path(), layout, 1));
  flip(folder / "step=1/model-00003-of-00004.safetensors", 1'000'000);
  CutModel model;
  for (int64_t rank = 0; rank < 4; ++rank) {
    const auto parts = cut_parts(model, {Cut::kFlat, rank, 4}, 50);
    const std::string what = thrown_by([&] { s2s::load_model(folder / "step=1", model, parts); });
    CHECK(contains(what, "[checkpoint/damaged]") == (rank == 3));
  }
}

TEST_CASE("a number that is none is found in any rank's file, with its place in the whole") {
  const TemporaryFolder folder;
  require_saved(save(folder.path(), {"", Cut::kColumns, 2}, 1));
  // Without an index nothing would tell that the file was changed.
  const std::string path = folder / "step=1/model-00001-of-00002.safetensors";
  auto file = s2s::SafetensorsFile::open(path);
  s2s::TensorMap tensors;
  for (const auto& [name, entry] : file.entries()) tensors[name] = file.tensor(name).clone();
  tensors.at("wide")[20] = std::numeric_limits<float>::quiet_NaN();
  auto index = s2s::read_checkpoint_index(folder / "step=1");
  index.files.at("model-00001-of-00002.safetensors") =
      s2s::write_safetensors(path, tensors, file.metadata());
  std::ofstream(folder / "step=1/index.json") << s2s::format_checkpoint_index(index);
  CutModel model;
  const auto parts = cut_parts(model, {Cut::kReplicated, 0, 1}, 50);
  // Rank 1 has columns 4 to 16: its number 20 is row 1, column 4 + 7.
  const std::string what = thrown_by([&] { s2s::load_model(folder / "step=1", model, parts); });
  CHECK_MESSAGE(contains(what, "'wide' is nan at [1, 11]"), what);
  const auto findings = s2s::verify_checkpoint(folder / "step=1").findings;
  REQUIRE(findings.size() == 1);
  CHECK_MESSAGE(contains(findings[0], "'wide' is nan at [1, 11]"), findings[0]);
  CHECK(find_wrong(parts, 50) == "");
}

TEST_CASE("buffers without memory become whole, and weights of all files are one set") {
  const TemporaryFolder folder;
  on_ranks(2, [&](s2s::Communicator* world) {
    SavingRank rank({"", Cut::kFlat, 2}, world, 1);
    rank.parts.push_back({"late", {3}, {{0, 3}}, at::arange(3, at::kFloat), rank_of(world) == 0});
    CheckpointFolder(folder.path(), {}, settings_of({"", Cut::kFlat, 2}, world))
        .save(rank.parts, rank.optimizer, {1, ""});
  });
  CutModel model(/*has_late=*/true);
  s2s::load_model(folder / "step=1", model, cut_parts(model, {Cut::kColumns, 2, 4}, 50));
  CHECK(model.late.equal(at::arange(3, at::kFloat)));
  const auto files = s2s::WeightFiles::open(folder / "step=1");
  CHECK((files.facts().at("half").dtype == at::kBFloat16));
  CHECK(files.facts().at("wide").sizes == std::vector<int64_t>{3, 17});
  CHECK(files.tensor("wide")[1][2].item<double>() == cut_value("wide", 19, 1));
  CHECK(files.read("wide", {1, 2, 3})[1][0].item<double>() == cut_value("wide", 19, 1));
}

TEST_CASE("a rank goes on with the random state of its place") {
  const TemporaryFolder folder;
  const SavedLayout layout{"", Cut::kFlat, 2};
  require_saved(save(folder.path(), layout, 1));
  // Threads share a generator: give the files states of their own.
  auto index = s2s::read_checkpoint_index(folder / "step=1");
  for (int64_t rank = 0; rank < 2; ++rank) {
    at::Generator generator = at::globalContext().defaultGenerator(at::kCPU);
    generator.set_current_seed(static_cast<uint64_t>(100 + rank));
    const std::string name = "random-0000" + std::to_string(rank) + "-of-00002.safetensors";
    index.files.at(name) =
        s2s::write_safetensors(folder / ("step=1/" + name), {{"cpu", generator.get_state()}});
  }
  std::ofstream(folder / "step=1/index.json") << s2s::format_checkpoint_index(index);
  for (int64_t rank = 0; rank < 4; ++rank) {
    CutModel model;
    const auto parts = cut_parts(model, {Cut::kFlat, rank, 4}, 1);
    CutOptimizer optimizer(parts, 1);
    s2s::MeshShape mesh;
    mesh.replicate = 2;
    mesh.shard = 2;
    s2s::load_run_state(folder / "step=1", optimizer, parts, {mesh, rank});
    at::Generator expected =
        at::make_generator<at::CPUGeneratorImpl>(static_cast<uint64_t>(100 + rank % 2));
    CHECK(at::rand({4}).equal(at::rand({4}, expected)));
  }
}
