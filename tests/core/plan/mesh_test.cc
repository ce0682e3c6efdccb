#include "plan/mesh.h"

#include <doctest/doctest.h>

#include "common/contains.h"
#include "s2s/error.h"

TEST_CASE("ranks of a mesh count the tensor axis first") {
  s2s::MeshShape shape;
  shape.replicate = 2;
  shape.shard = 3;
  shape.tensor = 2;
  for (int64_t rank = 0; rank < shape.world_size(); ++rank) {
    CHECK(s2s::rank_at_position(shape, s2s::position_in_mesh(shape, rank)) == rank);
  }
  const s2s::MeshPosition position = s2s::position_in_mesh(shape, 9);
  CHECK(position.tensor == 1);
  CHECK(position.shard == 1);
  CHECK(position.replicate == 1);
  CHECK(position.data(shape) == 4);
}

TEST_CASE("groups run along their axes") {
  s2s::MeshShape shape;
  shape.replicate = 2;
  shape.shard = 2;
  shape.tensor = 2;
  using Ranks = std::vector<int64_t>;
  CHECK(s2s::ranks_along(shape, 5, {.tensor = true}) == Ranks{4, 5});
  CHECK(s2s::ranks_along(shape, 5, {.shard = true}) == Ranks{5, 7});
  CHECK(s2s::ranks_along(shape, 5, {.replicate = true}) == Ranks{1, 5});
  CHECK(s2s::ranks_along(shape, 5, {.replicate = true, .shard = true}) == Ranks{1, 3, 5, 7});
  CHECK(s2s::ranks_along(shape, 5, {}) == Ranks{5});
}

TEST_CASE("a mesh of another size than the world is refused with both") {
  const auto world = s2s::make_solo_communicator({});
  s2s::MeshShape shape;
  shape.shard = 2;
  try {
    const s2s::MeshGroups groups(*world, shape);
    FAIL("no error");
  } catch (const s2s::Error& error) {
    CHECK(error.id() == "comm/mesh");
    CHECK(s2s::test::contains(error.message(), "the mesh has 2 ranks"));
    CHECK(s2s::test::contains(error.message(), "1 was started"));
  }
  shape.shard = 1;
  CHECK(s2s::MeshGroups(*world, shape).data().size() == 1);
}

TEST_CASE("groups of several axes are the world or an axis' group if they have the same ranks") {
  const auto world = s2s::make_simulated_ranks(4);
  s2s::MeshShape shape;
  shape.shard = 4;
  const s2s::MeshGroups all(*world, shape);
  CHECK(&all.data() == world.get());
  CHECK(&all.model() == world.get());
  CHECK(&all.shard() != world.get());  // has a queue of its own
  shape.shard = shape.tensor = 2;
  const s2s::MeshGroups some(*world, shape);
  CHECK(some.data().place().ranks == std::vector<int64_t>{0, 2});
  CHECK(&some.data() == &some.shard());
  CHECK(&some.model() == world.get());
  shape.tensor = 1;
  shape.replicate = 2;
  const s2s::MeshGroups replicas(*world, shape);
  CHECK(&replicas.data() == world.get());
  CHECK(&replicas.model() == &replicas.shard());
  shape.shard = 1;
  shape.tensor = 2;
  const s2s::MeshGroups tensor(*world, shape);
  CHECK(&tensor.data() == &tensor.replicate());
  CHECK(&tensor.model() == &tensor.tensor());
  const auto more = s2s::make_simulated_ranks(8);
  shape.shard = 2;
  const s2s::MeshGroups three(*more, shape);
  CHECK(three.data().place().ranks == std::vector<int64_t>{0, 2, 4, 6});
  CHECK(three.data().place().name == "data");
  CHECK(three.model().place().ranks == std::vector<int64_t>{0, 1, 2, 3});
  CHECK(three.model().place().name == "model");
}
