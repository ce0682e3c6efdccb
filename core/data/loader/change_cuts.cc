#include "loader/change_cuts.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <limits>

#include "cuts/cut_operations.h"
#include "loader/alt_texts.h"
#include "loader/loader_errors.h"
#include "loader/mix_noise.h"
#include "streams/input_changes.h"
#include "streams/python_random.h"
#include "streams/stream_parts.h"

namespace s2s::data {
namespace {

CutPtr shared_cut(Cut cut) { return std::make_shared<const Cut>(std::move(cut)); }

// ---- Channels.

CutPtr select_channel(const CutPtr& cut, const Config& selector) {
  int64_t channel = 0;
  if (const auto number = cut->custom_number(selector.text()); number && !selector.text().empty()) {
    channel = static_cast<int64_t>(*number);
  } else {
    try {
      channel = selector.as_int("channel_selector");
    } catch (const Error&) {
      throw loader_errors::channel(*cut, "there is no custom field " + selector.text());
    }
  }
  const auto count = static_cast<int64_t>(cut->channels.size());
  if (channel < 0 || channel >= count) {
    throw loader_errors::channel(*cut, fmt::format("{} of {} channels", channel, count));
  }
  if (count == 1) return cut;
  Cut selected = *cut;
  selected.channels = {channel};
  selected.kind = Cut::Kind::kMono;
  return shared_cut(std::move(selected));
}

// ---- Speed.

/// The pass numbers that lhotse uses when it opens n passes over one source in each of its own
/// passes; this is the k-th. Shards count a pass when it ends, so their n passes are alike. All
/// other sources count a pass when it begins.
class PassOf : public OneSource {
 public:
  PassOf(StreamPtr source, int64_t part, int64_t num_parts)
      : OneSource(std::move(source), fmt::format("pass {} of {}", part, num_parts)),
        part_(part),
        num_parts_(num_parts) {}
  std::optional<CutItem> next() override { return source().next(); }
  void rewind(int64_t epoch) override { OneSource::rewind(epoch * num_parts_ + part_); }
  std::optional<int64_t> size() const override { return source().size(); }

 private:
  int64_t part_, num_parts_;
};

/// `open` is called with the number of the pass.
StreamPtr at_three_speeds(const std::function<OpenedInput(int64_t)>& open) {
  std::vector<StreamPtr> parts;
  int64_t part = 2;  // mux has seed 0 and draws the sources from the last to the first
  for (const double factor : {1.0, 0.9, 1.1}) {
    OpenedInput opened = open(part);
    StreamPtr stream =
        std::make_unique<PassOf>(std::move(opened.stream), opened.is_tarred ? 0 : part, 3);
    --part;
    if (factor != 1.0) {
      stream = map(
          std::move(stream),
          [factor](const CutPtr& cut) { return shared_cut(perturb_speed(*cut, factor)); },
          fmt::format("speed {}", factor));
    }
    parts.push_back(std::move(stream));
  }
  return mux(std::move(parts), {});
}

// ---- Pieces and padding.

CutPtr piece(const CutPtr& cut, double offset_s, const CutBatchesOptions& o) {
  TruncateOptions options;
  options.offset_s = offset_s;
  options.duration_s = o.truncate_duration;
  options.keep_excessive_supervisions = o.keep_excessive_supervisions;
  return shared_cut(truncate(*cut, options));
}

/// NeMo draws with Python's global generator, which it seeds with `seed`.
StreamPtr truncated(StreamPtr source, const DatasetScope& scope) {
  const CutBatchesOptions o = scope.options;
  const double longest = *o.truncate_duration;
  const std::string name = fmt::format("truncate {} {} {}", longest, o.truncate_offset_type,
                                       o.keep_excessive_supervisions);
  if (o.truncate_offset_type != "random") {
    const bool is_end = o.truncate_offset_type == "end";
    return map(
        std::move(source),
        [o, longest, is_end](const CutPtr& cut) {
          if (cut->duration_s <= longest) return cut;
          return piece(cut, is_end ? cut->duration_s - longest : 0, o);
        },
        name);
  }
  return map_with_draws(
      std::move(source),
      [longest](const Cut& cut, PythonRandom& random) -> std::vector<int64_t> {
        if (cut.duration_s <= longest) return {};
        return {std::bit_cast<int64_t>(random.uniform(0, cut.duration_s - longest))};
      },
      [o](const CutPtr& cut, CutKeyView draws) {
        return draws.empty() ? cut : piece(cut, std::bit_cast<double>(draws[0]), o);
      },
      name, scope.seed);
}

StreamPtr windows(StreamPtr source, const CutBatchesOptions& o) {
  const double duration = *o.cut_into_windows_duration;
  const double hop = o.cut_into_windows_hop.value_or(0);
  const bool keep = o.keep_excessive_supervisions;
  return flat_map(
      std::move(source),
      [duration, hop, keep](const CutPtr& cut) {
        std::vector<CutPtr> parts;
        for (Cut& part : cut_into_windows(*cut, duration, hop, keep)) {
          parts.push_back(shared_cut(std::move(part)));
        }
        return parts;
      },
      fmt::format("windows {} {} {}", duration, hop, keep));
}

CutPtr padded_cut(const CutPtr& cut, double duration, Direction direction) {
  if (cut->duration_s >= duration) return cut;
  PadOptions options;
  options.duration_s = duration;
  options.direction = direction;
  options.preserve_id = true;
  return shared_cut(pad(*cut, options));
}

StreamPtr padded(StreamPtr source, const DatasetScope& scope) {
  const CutBatchesOptions& o = scope.options;
  const double duration = *o.pad_min_duration;
  const std::string name = fmt::format("pad {} {}", duration, o.pad_direction);
  if (o.pad_direction != "random") {
    const Direction direction = o.pad_direction == "left"    ? Direction::kLeft
                                : o.pad_direction == "right" ? Direction::kRight
                                                             : Direction::kBoth;
    return map(
        std::move(source),
        [duration, direction](const CutPtr& cut) { return padded_cut(cut, duration, direction); },
        name);
  }
  return map_with_draws(
      std::move(source),
      [duration](const Cut& cut, PythonRandom& random) -> std::vector<int64_t> {
        if (cut.duration_s >= duration) return {};
        return {static_cast<int64_t>(random.choice(3))};
      },
      [duration](const CutPtr& cut, CutKeyView draws) {
        constexpr Direction kDirections[] = {Direction::kLeft, Direction::kRight, Direction::kBoth};
        return draws.empty() ? cut : padded_cut(cut, duration, kDirections[draws[0]]);
      },
      name, scope.seed);
}

// ---- Filters.

std::optional<double> number_of(const CustomFields& fields, const std::string& name) {
  for (const auto& [key, value] : fields) {
    const auto* text = std::get_if<JsonText>(&value);
    if (key != name || text == nullptr) continue;
    try {
      return std::stod(text->text);
    } catch (const std::exception&) {
      return std::nullopt;
    }
  }
  return std::nullopt;
}

/// Whether the marks of turns and cuts pass the filters. Only plain cuts are filtered.
bool passes_marks(const Cut& whole, const CutBatchesOptions& o) {
  const Cut& cut = without_silence(whole);
  if (cut.kind != Cut::Kind::kMono) return true;
  if (cut.find_custom("validation_status") != nullptr &&
      cut.custom_text("validation_status") != o.keep) {
    return false;
  }
  if (cut.supervisions.empty()) return true;
  const CustomFields& fields = cut.supervisions.front().custom;
  const double most = o.max_cer.value_or(std::numeric_limits<double>::infinity());
  const double least = o.min_context_speaker_similarity.value_or(-1);
  return number_of(fields, "cer").value_or(0) <= most &&
         number_of(fields, "context_speaker_similarity").value_or(least) >= least;
}

StreamPtr filtered(StreamPtr source, const DatasetScope& scope) {
  const CutBatchesOptions& o = scope.options;
  const double shortest = o.min_duration.value_or(-1);
  const double longest = o.max_duration.value_or(std::numeric_limits<double>::infinity());
  StreamPtr stream = filter(
      std::move(source),
      [o, shortest, longest](const Cut& cut) {
        return shortest <= cut.duration_s && cut.duration_s <= longest && passes_marks(cut, o);
      },
      fmt::format("{} {} {} {} {}", shortest, longest, o.keep, o.max_cer.value_or(-1),
                  o.min_context_speaker_similarity.value_or(-1)));
  const bool has_most = o.max_tps.is_scalar() && !o.max_tps.is_null();
  const double most = has_most ? o.max_tps.as_double(scope.path + ".max_tps")
                               : std::numeric_limits<double>::infinity();
  if (!(o.min_tps > 0) && !std::isfinite(most)) return stream;
  const double least = o.min_tps;
  const Tokenizer* tokenizer = scope.context->tokenizer;
  return filter(
      std::move(stream),
      [least, most, tokenizer](const Cut& cut) {
        const auto count = static_cast<double>(count_tokens(cut, *tokenizer));
        const double tps = count / cut.duration_s;
        return least <= tps && tps <= most;
      },
      fmt::format("tps {} {}", least, most));
}

StreamPtr with_noise(StreamPtr source, const DatasetScope& scope, int64_t first_pass) {
  NoiseOptions options;
  options.first_pass = first_pass;
  options.min_snr_db = scope.options.noise_snr[0];
  options.max_snr_db = scope.options.noise_snr[1];
  options.share = scope.options.noise_mix_prob;
  options.seed = scope.shard_seed;
  return mix_in_noise(std::move(source), open_noise(scope), options);
}

/// Applies the changes that come before the change of speed. `pass`: which of several passes it is.
OpenedInput first_changes(OpenedInput opened, const DatasetScope& scope, int64_t pass) {
  const CutBatchesOptions& o = scope.options;
  StreamPtr& stream = opened.stream;
  if (!o.channel_selector.is_null()) {
    const Config selector = o.channel_selector;
    stream = map(
        std::move(stream), [selector](const CutPtr& cut) { return select_channel(cut, selector); },
        "channel " + selector.text());
  }
  stream = expand_alt_texts(std::move(stream));
  if (!o.noise_path.is_null()) {
    stream = with_noise(std::move(stream), scope, opened.is_tarred ? pass : 0);
  }
  return opened;
}

}  // namespace

StreamPtr change_cuts(const InputMaker& open, const DatasetScope& scope) {
  const CutBatchesOptions& o = scope.options;
  const auto open_changed = [&](int64_t pass) { return first_changes(open(), scope, pass); };
  StreamPtr stream =
      o.perturb_speed ? at_three_speeds(open_changed) : std::move(open_changed(0).stream);
  if (o.truncate_duration) stream = truncated(std::move(stream), scope);
  if (o.cut_into_windows_duration) stream = windows(std::move(stream), o);
  if (o.pad_min_duration) stream = padded(std::move(stream), scope);
  stream = filtered(std::move(stream), scope);
  return o.limit ? first(std::move(stream), *o.limit) : std::move(stream);
}

}  // namespace s2s::data
