#include "loader/mix_noise.h"

#include <fmt/format.h>

#include <bit>
#include <utility>

#include "cuts/cut_operations.h"
#include "loader/loader_errors.h"
#include "s2s/data/frames.h"
#include "streams/input_source.h"
#include "streams/input_stream.h"
#include "streams/python_random.h"
#include "streams/source_files.h"
#include "streams/stream_parts.h"

namespace s2s::data {
namespace {

constexpr double kMargin = 0.05;  // s; lhotse's margin, so that no piece has 0 frames

/// A piece of noise. A negative offset means the whole cut.
struct Piece {
  CutItem item;
  double offset_s = -1;
};

class NoiseStream : public OneSource {
 public:
  NoiseStream(StreamPtr source, StreamPtr noise, const NoiseOptions& options)
      : OneSource(
            std::move(source),
            fmt::format("noise {} {} {} {} {}", options.min_snr_db, options.max_snr_db,
                        options.share, options.seed + options.first_pass, noise->fingerprint())),
        noise_(repeat(std::move(noise))),
        options_(options),
        random_(options.seed) {}

  std::optional<CutItem> next() override {
    std::optional<CutItem> item = source().next();
    if (!item) return std::nullopt;
    if (random_.uniform(0, 1) > options_.share) {
      item->key = with_front(0, std::move(item->key));
      return item;
    }
    const CutPtr cut = cut_of(*item, source());
    const double snr_db = random_.uniform(options_.min_snr_db, options_.max_snr_db);
    std::vector<Piece> pieces = draw_pieces(round_time(cut->duration_s - kMargin));
    CutPtr mixed = mixed_cut(cut, pieces, snr_db);
    CutKey key = key_of(pieces, snr_db);
    key.insert(key.end(), item->key.begin(), item->key.end());
    return CutItem{std::move(key), std::move(mixed)};
  }

  void rewind(int64_t epoch) override {
    OneSource::rewind(epoch);
    random_.seed(options_.seed + epoch + options_.first_pass);
    noise_->rewind(0);
    buffer_.clear();
    is_filling_ = true;
  }

  StreamState state() const override {
    StreamState state = OneSource::state();
    state["noise"] = noise_->state();
    state["random"] = random_.state();
    state["buffer"] = packed_keys(buffer_);
    state["filling"] = is_filling_;
    return state;
  }

  void restore(const StreamState& state) override {
    OneSource::restore(state);
    noise_->restore(state_part(state, "noise"));
    random_.restore(state_field<std::string>(state, "random"));
    buffer_ = unpacked_keys(state_field<std::string>(state, "buffer"));
    is_filling_ = state_field<bool>(state, "filling");
  }

  CutPtr make(CutKeyView key) const override {
    const int64_t count = take_front(key, int64_t{1} << 32);
    if (count == 0) return source().make(key);
    const double snr_db = std::bit_cast<double>(take_any(key));
    std::vector<Piece> pieces;
    for (int64_t i = 0; i < count; ++i) {
      Piece piece;
      piece.offset_s = std::bit_cast<double>(take_any(key));
      const auto length = static_cast<size_t>(take_front(key, static_cast<int64_t>(key.size())));
      piece.item.key.assign(key.begin(), key.begin() + static_cast<ptrdiff_t>(length));
      key = key.subspan(length);
      pieces.push_back(std::move(piece));
    }
    return mixed_cut(source().make(key), pieces, snr_db);
  }

  std::optional<int64_t> size() const override { return source().size(); }

 private:
  static int64_t take_any(CutKeyView& key) {
    if (key.empty()) throw stream_errors::damaged_state("a key is cut off");
    const int64_t number = key[0];
    key = key.subspan(1);
    return number;
  }

  static CutKey key_of(const std::vector<Piece>& pieces, double snr_db) {
    CutKey key = {static_cast<int64_t>(pieces.size()), std::bit_cast<int64_t>(snr_db)};
    for (const Piece& piece : pieces) {
      key.push_back(std::bit_cast<int64_t>(piece.offset_s));
      key.push_back(static_cast<int64_t>(piece.item.key.size()));
      key.insert(key.end(), piece.item.key.begin(), piece.item.key.end());
    }
    return key;
  }

  CutItem take_noise() {
    std::optional<CutItem> item = noise_->next();
    if (!item) throw loader_errors::no_noise();
    return std::move(*item);
  }

  /// As lhotse's streaming_shuffle of an endless stream; it shares the generator with the other
  /// draws.
  CutItem next_noise() {
    for (;;) {
      CutItem item = take_noise();
      if (is_short()) buffer_.push_back(take_noise());
      const auto last = static_cast<int64_t>(buffer_.size()) - 1;
      std::swap(item, buffer_[static_cast<size_t>(random_.randint(0, last))]);
      if (!is_filling_ || !is_short()) {
        is_filling_ = false;
        return item;
      }
      buffer_.push_back(std::move(item));
    }
  }

  bool is_short() const { return std::cmp_less(buffer_.size(), options_.buffer_size); }

  Piece draw_piece(double target_s, double& duration_s) {
    Piece piece;
    piece.item = next_noise();
    piece.item.cut = cut_of(piece.item, *noise_);
    duration_s = piece.item.cut->duration_s;
    if (duration_s > target_s) {
      piece.offset_s = random_.uniform(0, duration_s - target_s);
      duration_s = stretch(piece, target_s)->duration_s;
    }
    return piece;
  }

  std::vector<Piece> draw_pieces(double target_s) {
    double duration_s = 0;
    std::vector<Piece> pieces = {draw_piece(target_s, duration_s)};
    double covered_s = duration_s;
    while (covered_s < target_s - kMargin) {
      pieces.push_back(draw_piece(target_s - covered_s, duration_s));
      covered_s = round_time(covered_s + duration_s);
    }
    return pieces;
  }

  CutPtr stretch(const Piece& piece, double target_s) const {
    const CutPtr cut = cut_of(piece.item, *noise_);
    if (piece.offset_s < 0) return cut;
    TruncateOptions options;
    options.offset_s = piece.offset_s;
    options.duration_s = target_s;
    return std::make_shared<const Cut>(truncate(*cut, options));
  }

  CutPtr mixed_cut(const CutPtr& cut, const std::vector<Piece>& pieces, double snr_db) const {
    const double target_s = round_time(cut->duration_s - kMargin);
    MixOptions options;
    options.snr_db = snr_db;
    Cut mixed = *cut;
    double covered_s = 0;
    for (const Piece& piece : pieces) {
      const CutPtr noise = stretch(piece, covered_s > 0 ? target_s - covered_s : target_s);
      options.offset_s = covered_s;
      mixed = mix(mixed, *noise, options);
      covered_s = covered_s > 0 ? round_time(covered_s + noise->duration_s) : noise->duration_s;
    }
    TruncateOptions whole;
    whole.duration_s = cut->duration_s;
    mixed = truncate(mixed, whole);
    return std::make_shared<const Cut>(std::move(mixed));
  }

  StreamPtr noise_;
  NoiseOptions options_;
  PythonRandom random_;
  std::vector<CutItem> buffer_;
  bool is_filling_ = true;
};

}  // namespace

StreamPtr mix_in_noise(StreamPtr source, StreamPtr noise, const NoiseOptions& options) {
  return std::make_unique<NoiseStream>(std::move(source), std::move(noise), options);
}

StreamPtr open_noise(const DatasetScope& scope) {
  const Config& node = scope.options.noise_path;
  const std::string& base_dir = scope.context->base_dir;
  if (node.is_scalar()) return open_input(path_from(base_dir, node.text()));
  InputContext context;
  context.path = scope.path + ".noise_path";
  context.base_dir = base_dir;
  context.attributes.shard_seed = scope.shard_seed;
  context.seed = [&scope](const Config&, const std::string&) { return scope.shard_seed; };
  Findings findings;
  const InputNode input = parse_input(node, context, findings);
  findings.throw_if_any();
  return open_input_tree(input).stream;
}

}  // namespace s2s::data
