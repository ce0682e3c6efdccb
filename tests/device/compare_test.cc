// Every reference file, computed on the test device.
#include "compare/compare.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>

#include "device/test_device.h"
#include "plugins/built_plugins.h"

namespace {

namespace fs = std::filesystem;
using namespace s2s::test;

/// Files of tests/reference/data whose names begin with `begin`.
std::vector<fs::path> reference_files(const std::string& begin) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(source_dir() + "/tests/reference/data")) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(begin) && entry.path().extension() == ".safetensors") {
      files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  REQUIRE_FALSE(files.empty());
  return files;
}

void check_files(const std::string& begin, at::ScalarType dtype = at::kFloat) {
  BuiltPlugins plugins;
  const s2s::CompareSettings settings{test_device(), dtype};
  for (const fs::path& file : reference_files(begin)) {
    INFO(file.filename().string());
    const s2s::ReferenceFile reference = s2s::read_reference(file.string());
    const auto rows = s2s::compare_reference({reference, settings, plugins.registries()});
    CHECK_FALSE(rows.empty());
    for (const s2s::TensorDifference& row : rows) {
      CHECK_MESSAGE(row.pass, row.name << " uses " << row.share_of_tolerance << " of its tolerance "
                                       << row.note);
    }
  }
}

}  // namespace

TEST_CASE("language models compute on the device what Hugging Face's do") { check_files("hf_"); }

TEST_CASE("bfloat16 on the device rounds as the source's does") {
  check_files("hf_llama_plain", at::kBFloat16);
}

TEST_CASE("encoders compute on the device what NeMo's do") { check_files("nemo_fastconformer"); }

TEST_CASE("the duplex model computes on the device what NeMo's does") {
  check_files("nemo_duplex");
}

TEST_CASE("recognizers and their beam searches compute on the device what NeMo's do") {
  check_files("nemo_asr_");
}

TEST_CASE("codecs compute on the device what NeMo's do") {
  check_files("nemo_audio_codec_");
  check_files("nemo_rvq_vae_");
}

TEST_CASE("speech models compute on the device what NeMo's do") {
  check_files("nemo_salm_");
  check_files("nemo_eartts_");
  check_files("nemo_voicechat");
}

TEST_CASE("a device is chosen by name") {
  CHECK((s2s::parse_device("gpu") == at::kPrivateUse1));
  CHECK((s2s::parse_device("test_device:0") == test_device()));
  CHECK_THROWS_WITH_AS(s2s::parse_device("cuda"), doctest::Contains("[reference/device]"),
                       s2s::Error);
}
