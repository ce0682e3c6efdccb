// Where long audio is cut. Numbers: NeMo's encoder_chunking.py.

#include "models/salm/audio_chunks.h"

#include <doctest/doctest.h>

using namespace s2s::salm;

using Lengths = std::vector<std::vector<int64_t>>;

TEST_CASE("a tail that is too short joins the chunk before it") {
  const ChunkSizes sizes = chunk_sizes(0.2, 0.02, 16000);
  CHECK(sizes.chunk == 3200);
  CHECK(sizes.min_chunk == 320);
  CHECK(split_lengths({9000, 6500, 6720, 3000, 0}, sizes) ==
        Lengths{{3200, 3200, 2600}, {3200, 3300}, {3200, 3200, 320}, {3000}, {0}});
}

TEST_CASE("chunks are at least as long as the shortest, and none is cut without a size") {
  CHECK(chunk_sizes(0.001, 0.02, 16000).chunk == 320);
  CHECK(split_lengths({9000}, chunk_sizes({}, 0.02, 16000)) == Lengths{{9000}});
}
