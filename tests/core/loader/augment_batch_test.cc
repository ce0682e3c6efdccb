#include "loader/augment_batch.h"

#include <ATen/ATen.h>
#include <doctest/doctest.h>
#include <sndfile.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "common/packed_safetensors.h"
#include "common/temporary_folder.h"
#include "s2s/nn/weights.h"
#include "weights/safetensors.h"

namespace s2s::data {
namespace {

/// What NeMo computed (tests/reference/nemo_augmentation.py).
const SafetensorsFile& golden() {
  static const SafetensorsFile kFile = test::packed_safetensors("stt_augmentation.safetensors.gz");
  return kFile;
}

void write_wave(const std::string& path, const at::Tensor& audio_CN, int rate_hz) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  SF_INFO info{};
  info.samplerate = rate_hz;
  info.channels = static_cast<int>(audio_CN.size(0));
  info.format = SF_FORMAT_WAV | SF_FORMAT_FLOAT;
  SNDFILE* const file = sf_open(path.c_str(), SFM_WRITE, &info);
  REQUIRE(file != nullptr);
  const at::Tensor frames_NC = audio_CN.t().contiguous();
  sf_writef_float(file, frames_NC.const_data_ptr<float>(), frames_NC.size(0));
  sf_close(file);
}

/// The folders of the reference, and options that read them.
struct Folders {
  Folders() {
    options.agent_audio = false;
    options.source_sample_rate = golden().tensor("sample_rate").item<int64_t>();
    for (const auto& [name, audio_CN] : golden().tensors("file/")) {
      write_wave(folder / name, audio_CN, static_cast<int>(options.source_sample_rate));
    }
    context.path = "data.train_ds";
    context.base_dir = folder.path().string();
    options.augmentation.noise_aug_path = "noise";
    options.augmentation.roomir_aug_path = "rooms";
    options.augmentation.micir_aug_path = "microphones";
  }
  BatchAugmenter augmenter() const { return {options, context, {1, 2, 0}}; }

  test::TemporaryFolder folder;
  DuplexDataOptions options;
  DataContext context;
};

UserAudioAugmentation read_case(const std::string& json, const UserAudioAugmentation& paths) {
  UserAudioAugmentation options = paths;
  Findings findings;
  OptionReader(parse_json(json, "case"), "data", findings, {"seed"}).read(options);
  findings.throw_if_any();
  return options;
}

Batch batch_of_audio() {
  Batch batch;
  batch.source_audio_BS = golden().tensor("audio").clone();
  batch.source_audio_lens_B = golden().tensor("lens");
  batch.target_tokens_BT = batch.source_tokens_BT = at::zeros({3, 4}, at::kLong);
  return batch;
}

TEST_CASE("noise, rooms and microphones equal NeMo's for the same random numbers") {
  int64_t num_cases = 0;
  for (const auto& [key, json] : golden().metadata()) {
    if (!key.starts_with("case/")) continue;
    const std::string name = key.substr(5);
    CAPTURE(name);
    Folders folders;
    folders.options.augmentation = read_case(json, folders.options.augmentation);
    AugmentationDraws draws(nlohmann::json::parse(json).at("seed").get<int64_t>());
    Batch batch = batch_of_audio();
    folders.augmenter().apply(batch, "", draws);
    const at::Tensor expected_BS = golden().tensor("output/" + name);
    const double error = (batch.source_audio_BS - expected_BS).abs().max().item<double>();
    CAPTURE(error);
    CHECK(error < 2e-6 * expected_BS.abs().max().item<double>());
    ++num_cases;
  }
  CHECK(num_cases == 7);
}

TEST_CASE("early interruptions equal NeMo's for the same random numbers") {
  const InterruptionRules rules{{1, 2, 0}, 4, 0.08, 62};
  Batch batch;
  batch.target_tokens_BT = golden().tensor("turns/before/target_tokens").clone();
  batch.source_tokens_BT = golden().tensor("turns/before/source_tokens").clone();
  batch.source_audio_BS = golden().tensor("turns/before/source_audio").clone();
  batch.source_audio_lens_B = golden().tensor("turns/source_audio_lens");
  for (int64_t b = 0; b < batch.target_tokens_BT.size(0); ++b) {
    AugmentationDraws draws(b);
    interrupt_early(batch, b, rules, draws);
  }
  CHECK(batch.target_tokens_BT.equal(golden().tensor("turns/after/target_tokens")));
  CHECK(batch.source_tokens_BT.equal(golden().tensor("turns/after/source_tokens")));
  CHECK(batch.source_audio_BS.equal(golden().tensor("turns/after/source_audio")));
}

TEST_CASE("the draws of a batch depend on its number and the seed, and nothing else") {
  Folders folders;
  folders.options.augmentation.use_noise_aug = true;
  const auto changed = [&](int64_t index, uint64_t seed) {
    folders.context.seed = seed;
    Batch batch = batch_of_audio();
    folders.augmenter().apply(batch, {index, ""});
    return batch.source_audio_BS;
  };
  CHECK(changed(3, 1).equal(changed(3, 1)));
  CHECK_FALSE(changed(3, 1).equal(changed(4, 1)));
  CHECK_FALSE(changed(3, 1).equal(changed(3, 2)));
}

TEST_CASE("batches of recognition and of overlap keep their audio, unless the options say so") {
  Folders folders;
  folders.options.augmentation.use_noise_aug = true;
  folders.options.augmentation.noise_prob = 1;
  for (const bool is_forced : {false, true}) {
    CAPTURE(is_forced);
    folders.options.augmentation.force_use_noise_augmentation = is_forced;
    const BatchAugmenter augmenter = folders.augmenter();
    for (const std::string task : {"asr", "s2s_duplex_overlap_as_s2s_duplex", "s2s_duplex", ""}) {
      CAPTURE(task);
      Batch batch = batch_of_audio();
      augmenter.apply(batch, {1, task});
      const bool is_same = batch.source_audio_BS.equal(golden().tensor("audio"));
      CHECK(is_same == (!is_forced && (task == "asr" || task.ends_with("_as_s2s_duplex"))));
    }
  }
}

TEST_CASE("folders without audio and interruptions beside the agent's audio are refused") {
  Folders folders;
  const auto id = [&] {
    try {
      folders.augmenter();
    } catch (const Error& error) {
      return error.id();
    }
    return std::string("no error");
  };
  folders.options.augmentation.use_noise_aug = true;
  CHECK(id() == "no error");
  folders.options.augmentation.noise_aug_path = "rooms";  // its files are one folder too high
  CHECK(id() == "data/augmentation-files");
  std::string warning;
  folders.context.warn = [&](const std::string& message) { warning = message; };
  folders.options.augmentation.noise_aug_path.reset();
  CHECK(id() == "no error");
  CHECK(warning.find("noise_aug_path") != std::string::npos);
  folders.options.augmentation.early_interruption_prob = 0.5;
  CHECK(id() == "no error");
  folders.options.agent_audio = true;
  CHECK(id() == "data/early-interruption");
}

}  // namespace
}  // namespace s2s::data
