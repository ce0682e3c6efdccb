// The groups that each rank of a layout opens. NCCL connects a group when it is made, and all of
// its ranks wait for each other there: ranks that opened groups in different orders would wait for
// ever.
#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <set>

#include "device/pretended_ranks.h"
#include "device/test_device.h"
#include "parallel/equality.h"
#include "parallel/trained_models.h"

using namespace s2s;
using namespace s2s::test;

namespace {

struct GroupsCase {
  RunLayout layout;
  std::map<int64_t, OpenedGroups> expected;  // of some ranks
};

/// The groups of all ranks, from the start of the strategy to a model that is ready to train.
std::vector<OpenedGroups> opened_by(const Registries& registries, const TrainedModel& trained,
                                    const RunLayout& layout) {
  std::vector<OpenedGroups> opened(static_cast<size_t>(layout.num_ranks));
  for (int64_t rank = 0; rank < layout.num_ranks; ++rank) {
    const auto world = pretended_world(rank, layout.num_ranks,
                                       {test_device(), &opened[static_cast<size_t>(rank)]});
    ProcessContext context;
    context.world = world.get();
    context.path = "trainer.strategy";
    const std::unique_ptr<Model> model = trained.make(registries);
    model->to(test_device(), at::kFloat);
    const auto strategy =
        registries.create<ParallelStrategy>(parse_json(layout.strategy, "strategy"), context);
    strategy->attach(*model, model->configure_model(strategy->mesh()));
  }
  return opened;
}

/// "shard[0,1]" names the ranks 0 and 1.
std::vector<size_t> ranks_of(const std::string& group) {
  std::vector<size_t> ranks;
  for (size_t i = group.find('['); i < group.size() && group[i] != ']';) {
    ranks.push_back(std::stoul(group.substr(i + 1)));
    i = group.find_first_of(",]", i + 1);
  }
  return ranks;
}

/// Opens groups as NCCL does: a rank stands at its next group until all ranks of the group do.
/// Returns what the ranks stand at for ever; "" when all groups were opened.
std::string stuck_at(const std::vector<OpenedGroups>& opened) {
  std::vector<size_t> next(opened.size(), 0);
  const auto stands_at = [&](size_t rank, const std::string& group) {
    return next[rank] < opened[rank].size() && opened[rank][next[rank]] == group;
  };
  const auto open_one = [&] {
    for (size_t rank = 0; rank < opened.size(); ++rank) {
      if (next[rank] == opened[rank].size()) continue;
      const std::string& group = opened[rank][next[rank]];
      const std::vector<size_t> members = ranks_of(group);
      if (!std::all_of(members.begin(), members.end(),
                       [&](size_t member) { return stands_at(member, group); })) {
        continue;
      }
      for (const size_t member : members) ++next[member];
      return true;
    }
    return false;
  };
  while (open_one()) {
  }
  std::string stuck;
  for (size_t rank = 0; rank < opened.size(); ++rank) {
    if (next[rank] < opened[rank].size()) stuck += opened[rank][next[rank]] + "; ";
  }
  return stuck;
}

std::string name_of(const std::string& group) { return group.substr(0, group.find('[')); }

/// Ranks that already have a group open a second one only for a queue of its own: of gathers and of
/// reductions, which overlap with computation, and of what the hosts tell each other.
void check_shared(const OpenedGroups& opened, int64_t num_ranks) {
  std::map<std::vector<size_t>, std::vector<std::string>> names;
  for (const std::string& group : opened) names[ranks_of(group)].push_back(name_of(group));
  const std::set<std::string> have_queues = {"replicate", "shard", "shard_gathers", "near",
                                             "tensor",    "hosts", "tensor_copies"};
  for (const auto& [ranks, of_ranks] : names) {
    CAPTURE(of_ranks);
    CHECK(std::set<std::string>(of_ranks.begin(), of_ranks.end()).size() == of_ranks.size());
    const bool is_all = ranks.size() == static_cast<size_t>(num_ranks);
    for (const std::string& name : of_ranks) {
      const bool needs_no_queue = !have_queues.contains(name);  // "data" and "model"
      CHECK_FALSE((needs_no_queue && (of_ranks.size() > 1 || is_all)));
    }
  }
}

std::vector<GroupsCase> groups_cases() {
  const std::string fsdp = R"("name": "fsdp")";
  const std::string two = R"("name": "model_parallel", "tensor_parallel_size": 2)";
  const std::string all = "[0,1,2,3,4,5,6,7]";
  return {
      {layout("ddp 8", R"("name": "ddp")", 8, 8), {{5, {"replicate" + all, "hosts" + all}}}},
      {layout("fsdp 8", fsdp, 8, 8), {{5, {"shard" + all, "shard_gathers" + all, "hosts" + all}}}},
      {layout("fsdp 8, reshard by 4", fsdp + R"(, "reshard_after_forward": "4")", 8, 8),
       {{5, {"shard" + all, "shard_gathers" + all, "hosts" + all, "near[4,5,6,7]"}}}},
      {layout("hybrid 2 x 4", fsdp + R"(, "replicate_size": 2)", 8, 8),
       {{1, {"replicate[1,5]", "shard[0,1,2,3]", "shard_gathers[0,1,2,3]", "hosts" + all}},
        {5, {"replicate[1,5]", "shard[4,5,6,7]", "shard_gathers[4,5,6,7]", "hosts" + all}}}},
      {layout("tp 4", R"("name": "model_parallel", "tensor_parallel_size": 4)", 4, 1),
       {{2, {"tensor[0,1,2,3]", "hosts[0,1,2,3]", "tensor_copies[2,3]"}}}},
      {layout("fsdp 4 x tp 2", two, 8, 4),
       {{5, {"shard[1,3,5,7]", "shard_gathers[1,3,5,7]", "tensor[4,5]", "hosts" + all}}}},
      {layout("replicate 2 x shard 2 x tp 2", two + R"(, "replicate_size": 2)", 8, 4),
       {{5,
         {"replicate[1,5]", "shard[5,7]", "shard_gathers[5,7]", "tensor[4,5]", "data[1,3,5,7]",
          "model[4,5,6,7]", "hosts" + all}}}},
  };
}

}  // namespace

TEST_CASE("all ranks of a group open it in the same order, and share it where ranks are equal") {
  BuiltPlugins plugins;
  load(plugins);
  const TrainedModel trained = family("llama", R"("name": "llama")", 2);
  for (const GroupsCase& one : groups_cases()) {
    CAPTURE(one.layout.name);
    const auto opened = opened_by(plugins.registries(), trained, one.layout);
    CHECK(stuck_at(opened) == "");
    for (const OpenedGroups& groups : opened) check_shared(groups, one.layout.num_ranks);
    for (const auto& [rank, expected] : one.expected) {
      CHECK(opened[static_cast<size_t>(rank)] == expected);
    }
    std::vector<std::string> first;  // all ranks open the same kinds of groups
    for (const std::string& group : opened[0]) first.push_back(name_of(group));
    for (const OpenedGroups& groups : opened) {
      std::vector<std::string> names;
      for (const std::string& group : groups) names.push_back(name_of(group));
      CHECK(names == first);
    }
  }
}

TEST_CASE("groups that ranks open in different orders are found") {
  CHECK(stuck_at({{"a[0,1]", "b[0,1]"}, {"a[0,1]", "b[0,1]"}}) == "");
  CHECK(stuck_at({{"a[0,1]", "b[0,1]"}, {"b[0,1]", "a[0,1]"}}) == "a[0,1]; b[0,1]; ");
  CHECK(stuck_at({{"a[0,1]"}, {}}) == "a[0,1]; ");
  // Each waits for the next one.
  CHECK(stuck_at({{"a[0,1]", "c[0,2]"}, {"b[1,2]", "a[0,1]"}, {"c[0,2]", "b[1,2]"}}) ==
        "a[0,1]; b[1,2]; c[0,2]; ");
}
