#pragma once
// Streams of generated cuts, as tests/reference/lhotse_pipelines.py describes and builds them.

#include <nlohmann/json.hpp>
#include <string>

#include "streams/combinators.h"
#include "streams/python_random.h"
#include "streams/stream_parts.h"

namespace s2s::data {

using nlohmann::json;

/// Cuts in memory; what was asked for is counted.
class MemoryStream : public CutStream {
 public:
  explicit MemoryStream(std::vector<CutPtr> cuts) : cuts_(std::move(cuts)) {}

  std::optional<CutItem> next() override {
    if (row_ == cuts_.size()) return std::nullopt;
    ++num_read;
    return CutItem{{static_cast<int64_t>(row_)}, cuts_[row_++]};
  }
  void rewind(int64_t) override { row_ = 0; }
  StreamState state() const override { return {{"row", row_}}; }
  void restore(const StreamState& state) override { row_ = state.at("row").get<size_t>(); }
  CutPtr make(CutKeyView key) const override {
    ++num_made;
    return cuts_.at(static_cast<size_t>(key[0]));
  }
  uint64_t fingerprint() const override { return cuts_.size(); }
  std::optional<int64_t> size() const override { return static_cast<int64_t>(cuts_.size()); }

  inline static int64_t num_read = 0;
  inline static int64_t num_made = 0;

 private:
  std::vector<CutPtr> cuts_;
  size_t row_ = 0;
};

inline double generated_duration(const std::string& shape, PythonRandom& rng) {
  const auto drawn = static_cast<double>(rng.randint(1, 1000));
  if (shape == "equal") return 5;
  if (shape == "short") return 0.25 + drawn / 500;
  if (shape == "skewed") return 0.5 + drawn * drawn / 40000;
  if (shape == "tail") return drawn <= 960 ? 1 + drawn / 200 : 40 + drawn / 10;
  return 0.5 + drawn / 50;  // "uniform"
}

/// `count` cuts named NAME0, NAME1, ...; a custom number `tokens`.
inline std::vector<CutPtr> generated_cuts(const json& spec) {
  PythonRandom rng(spec.at("seed").get<int64_t>());
  std::vector<CutPtr> cuts;
  for (int i = 0; i < spec.at("count").get<int>(); ++i) {
    auto cut = std::make_shared<Cut>();
    cut->id = spec.at("name").get<std::string>() + std::to_string(i);
    cut->duration_s = generated_duration(spec.value("shape", "uniform"), rng);
    cut->custom.emplace_back("tokens", JsonText{std::to_string(rng.randint(0, 60))});
    cuts.push_back(cut);
  }
  return cuts;
}

inline CutPtr renamed(const CutPtr& cut, const std::string& suffix) {
  auto copy = std::make_shared<Cut>(*cut);
  copy->id += suffix;
  return copy;
}

inline StreamPtr stream_of(const json& spec);

inline std::vector<StreamPtr> streams_of(const json& specs) {
  std::vector<StreamPtr> streams;
  for (const json& spec : specs) streams.push_back(stream_of(spec));
  return streams;
}

inline std::vector<double> weights_of(const json& spec) {
  return spec.value("weights", std::vector<double>());
}

inline StreamPtr infinite_mux_of(const json& spec) {
  std::vector<StreamMaker> makers;
  for (const json& source : spec.at("of")) {
    makers.emplace_back([source] { return stream_of(source); });
  }
  InfiniteMuxOptions options{weights_of(spec), spec.value("seed", 0), {}};
  if (spec.contains("open")) options.max_open_streams = spec["open"].get<int64_t>();
  return infinite_mux(std::move(makers), options);
}

inline std::vector<CutPtr> parts_of_cut(const CutPtr& cut) {
  std::vector<CutPtr> parts;
  for (int i = 0; i < static_cast<int>(cut->duration_s) % 3; ++i) {
    parts.push_back(renamed(cut, "-" + std::to_string(i)));
  }
  return parts;
}

inline StreamPtr draw_of(const json& spec) {
  const auto draws = [](const Cut& cut, PythonRandom& rng) {
    std::vector<int64_t> drawn = {rng.randint(0, 99)};
    if (cut.duration_s > 5) drawn.push_back(std::bit_cast<int64_t>(rng.uniform(0, 1)));
    return drawn;
  };
  const auto change = [](const CutPtr& cut, CutKeyView drawn) {
    const bool is_high = drawn.size() > 1 && std::bit_cast<double>(drawn[1]) > 0.5;
    return renamed(cut, "#" + std::to_string(drawn[0]) + (is_high ? "+" : ""));
  };
  return map_with_draws(stream_of(spec.at("of")), draws, change, "number", spec.value("seed", 0));
}

inline StreamPtr changed_stream_of(const std::string& kind, const json& spec) {
  if (kind == "draw") return draw_of(spec);
  StreamPtr source = stream_of(spec.at("of"));
  if (kind == "repeat") return repeat(std::move(source), spec.value("preserve_id", false));
  if (kind == "shuffle") {
    return shuffle(std::move(source), {spec.at("buffer").get<int64_t>(), spec.value("seed", 0)});
  }
  if (kind == "filter") {
    const double min = spec.at("min").get<double>();
    return filter(
        std::move(source), [min](const Cut& cut) { return cut.duration_s >= min; }, "min");
  }
  if (kind == "map") {
    const auto suffix = spec.at("suffix").get<std::string>();
    return map(
        std::move(source), [suffix](const CutPtr& cut) { return renamed(cut, suffix); }, suffix);
  }
  if (kind == "flat_map") return flat_map(std::move(source), parts_of_cut, "parts");
  REQUIRE(kind == "first");
  return first(std::move(source), spec.at("count").get<int64_t>());
}

inline StreamPtr stream_of(const json& spec) {
  const auto kind = spec.at("op").get<std::string>();
  if (kind == "cuts") return std::make_unique<MemoryStream>(generated_cuts(spec));
  if (kind == "chain") return chain(streams_of(spec.at("of")));
  if (kind == "mux") {
    return mux(streams_of(spec.at("of")), {weights_of(spec), spec.value("seed", 0)});
  }
  if (kind == "infinite_mux") return infinite_mux_of(spec);
  return changed_stream_of(kind, spec);
}

}  // namespace s2s::data
