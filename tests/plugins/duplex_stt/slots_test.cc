// Live conversations of duplex_stt side by side.

#include <doctest/doctest.h>

#include "common/capabilities.h"
#include "plugins/duplex_stt/stt_fixture.h"
#include "plugins/slot_conversations.h"
#include "s2s/conformance.h"

using namespace s2s;
using namespace s2s::test;

TEST_CASE("conversations in slots say what each says alone") {
  SttFixture f;
  const auto model = f.model(std::string(kForcedTurns) + R"(, "system_prompt": "be brief")");
  check_slots(speech_of(*model), make_batch({20, 20, 20, 20}, 9).source_audio_BS);
}

TEST_CASE("duplex_stt keeps the promises of a model") {
  SttFixture f;
  CHECK(conformance::broken_promises(*f.model(kUserText)) == conformance::Answers{});
}
