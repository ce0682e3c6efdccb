// What tests/reference/lhotse_loader_check.py asks of us.

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "config/yaml_reader.h"
#include "core/loader/letter_tokenizer.h"
#include "cuts/cut_files.h"
#include "loader/cut_batches.h"
#include "s2s/data/audio_loader.h"

using namespace s2s;
using namespace s2s::data;
using OrderedJson = nlohmann::ordered_json;

namespace {

constexpr int64_t kRate = 8000;

/// Raw float32, source and target, of cut after cut.
class AudioFiles {
 public:
  explicit AudioFiles(const std::string& prefix) {
    if (prefix.empty()) return;
    for (const char* side : {".source", ".target"}) {
      files_.emplace_back(prefix + side, std::ios::binary);
    }
  }

  /// -> the numbers of samples; nothing without files.
  OrderedJson write(const Cut& cut) {
    if (files_.empty()) return {};
    const bool has_target = cut.find_recording("target_audio") != nullptr;
    return {write(files_[0], loader_.source(cut, kRate)),
            has_target ? write(files_[1], loader_.target(cut, kRate)) : 0};
  }

 private:
  static int64_t write(std::ofstream& file, const at::Tensor& audio_S) {
    const at::Tensor flat_S = audio_S.contiguous();
    file.write(reinterpret_cast<const char*>(flat_S.data_ptr<float>()),
               static_cast<std::streamsize>(flat_S.numel() * sizeof(float)));
    return flat_S.numel();
  }

  AudioLoader loader_;
  std::vector<std::ofstream> files_;
};

OrderedJson batches_of(const OrderedJson& wanted, const std::string& folder) {
  const test::LetterTokenizer letters;
  CutBatchesContext context;
  context.path = "ds";
  context.base_dir = folder;
  context.data_size = wanted.value("ranks", 1);
  if (wanted.value("letters", false)) context.tokenizer = &letters;
  const auto batches = open_cut_batches(parse_yaml(wanted.at("config").dump(), "c.yaml"), context);
  AudioFiles audio(wanted.value("audio", ""));
  OrderedJson passes = OrderedJson::array({OrderedJson::array()});
  const int64_t most = wanted.at("count").get<int64_t>();
  // A pass of as many batches is the last: its end is not looked for.
  while (std::cmp_less(passes.back().size(), most)) {
    const auto batch = batches->next();
    if (batch->epoch >= wanted.at("passes").get<int64_t>()) break;
    if (std::cmp_equal(batch->epoch, passes.size())) passes.push_back(OrderedJson::array());
    OrderedJson rows = OrderedJson::array();
    for (const BatchRow& row : batch->rows) {
      const auto cut = batches->make(row.cuts.at(0).key);
      rows.push_back(OrderedJson::parse(to_json(*cut)));
      rows.back()["num_samples_written"] = audio.write(*cut);
    }
    passes.back().push_back(std::move(rows));
  }
  return passes;
}

}  // namespace

TEST_CASE("batches of the configurations that S2S_LOADER_CASES names") {
  const char* path = std::getenv("S2S_LOADER_CASES");
  if (path == nullptr) return;
  const OrderedJson wanted = OrderedJson::parse(std::ifstream(path));
  OrderedJson found = OrderedJson::array();
  for (const OrderedJson& one : wanted.at("cases")) {
    try {
      found.push_back(batches_of(one, wanted.at("folder")));
    } catch (const Error& error) {
      found.push_back({{"error", error.what()}});
    }
  }
  std::ofstream(std::getenv("S2S_LOADER_RESULTS")) << found.dump();
  CHECK(found.size() == wanted.at("cases").size());
}
