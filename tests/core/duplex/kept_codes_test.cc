#include "duplex/kept_codes.h"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include "common/contains.h"
#include "common/data_error_of.h"
#include "cuts/cut_operations.h"

namespace s2s::data {
namespace {

using test::contains;
using test::data_error_of;

constexpr const char* kField = "target_codes";

Recording recording(const std::string& id, double duration_s) {
  Recording made;
  made.id = id;
  made.sources = {{AudioSource::Type::kFile, {0}, id + ".wav"}};
  made.sample_rate_hz = 16000;
  made.duration_s = duration_s;
  made.num_samples = static_cast<int64_t>(duration_s * 16000);
  made.channel_ids = {0};
  return made;
}

Cut dialogue(double duration_s) {
  Cut cut;
  cut.id = "d";
  cut.duration_s = duration_s;
  cut.recording = recording("user", duration_s);
  cut.set_custom("target_audio", recording("agent", duration_s));
  return cut;
}

at::Tensor codes_of(int64_t frames) { return at::arange(frames * 3, at::kLong).view({frames, 3}); }

Cut encoded(double duration_s = 1.0) {
  Cut cut = dialogue(duration_s);
  keep_codes(cut, kField, codes_of(13), 0.08, 0xfedcba9876543210);
  return cut;
}

std::string refusal(const Cut& cut) {
  return data_error_of([&] { load_kept_codes(cut, kField); });
}

TEST_CASE("kept codes are what was kept, with large codes, too") {
  const KeptCodes kept = load_kept_codes(encoded(), kField);
  CHECK(kept.codes_KT.equal(codes_of(13).t()));
  CHECK(kept.codec_id == 0xfedcba9876543210);
  Cut cut = dialogue(1.0);
  keep_codes(cut, kField, codes_of(13) + 100000, 0.08, 1);
  CHECK(load_kept_codes(cut, kField).codes_KT.equal(codes_of(13).t() + 100000));
}

TEST_CASE("kept codes of other audio are refused with the cut and the reason") {
  CHECK(contains(refusal(dialogue(1.0)), "'target_codes' is missing"));
  const Cut whole = encoded();
  CHECK(contains(refusal(truncate(whole, {.duration_s = 0.8})),
                 "was made of 1 s from the beginning, but the cut is now 0.8 s from 0 s on"));
  CHECK(contains(refusal(truncate(whole, {.offset_s = 0.16})), "0.84 s from 0.16 s on"));
  CHECK(contains(refusal(pad(whole, {.duration_s = 2.0})), "changes the agent's audio"));
  CHECK(contains(refusal(perturb_speed(whole, 1.1)), "was made of 1 s"));
  Cut swapped = whole;
  swapped.set_custom("target_audio", recording("user", 1.0));
  CHECK(contains(refusal(swapped),
                 "was made of the recording 'agent', but the agent's is now "
                 "'user'"));
  Cut unmarked = whole;
  unmarked.erase_custom("target_codes_of");
  CHECK(contains(refusal(unmarked), "does not say in 'target_codes_of'"));
  Cut shorter = whole;
  shorter.set_custom(kField, *encoded().find_custom(kField));
  keep_codes(shorter, "other", codes_of(12), 0.08, 1);
  shorter.set_custom(kField, *shorter.find_custom("other"));
  CHECK(contains(refusal(shorter), "has the shape [12, 3] and not 13 frames"));
  Cut unnamed = whole;
  unnamed.set_custom(kField, StoredArray{{R"({"array": {"storage_type": 5, "storage_key": [],
      "shape": [13, 3]}})"}});
  CHECK(contains(refusal(unnamed), "is in a storage that is not read"));
}

TEST_CASE("noise in the user's audio keeps the codes; another voice of the agent does not") {
  Cut noise;
  noise.id = "noise";
  noise.duration_s = 1.0;
  noise.recording = recording("noise", 1.0);
  const MixOptions options{.snr_db = 10};
  CHECK(load_kept_codes(mix(encoded(), noise, options), kField).codec_id == 0xfedcba9876543210);
  CHECK(contains(refusal(mix(encoded(), dialogue(1.0), options)), "changes the agent's audio"));
  CHECK(contains(refusal(append(encoded(), noise)), "changes the agent's audio"));
}

}  // namespace
}  // namespace s2s::data
