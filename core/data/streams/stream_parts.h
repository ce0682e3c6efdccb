#pragma once
// What streams have in common.

#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "files/index_place.h"
#include "s2s/error.h"
#include "streams/combinators.h"
#include "streams/python_random.h"
#include "streams/stream_errors.h"

namespace s2s::data {

/// Runs `make` for a row; false, after `on_bad` was told, when its data is bad. Without `on_bad`
/// what is thrown goes on.
template <typename Make>
bool is_good(const files::OnBad& on_bad, Make&& make) {
  try {
    make();
    return true;
  } catch (const Error& error) {
    if (!on_bad || error.exit_code() != ExitCode::kData) throw;
    on_bad(error);
    return false;
  }
}

/// A field of a saved position.   Errors: [data/position] when it is absent or of another type.
template <typename T>
T state_field(const StreamState& state, const char* name) {
  try {
    return state.at(name).get<T>();
  } catch (const nlohmann::json::exception&) {
    throw stream_errors::damaged_state(std::string("'") + name + "' is missing or of another type");
  }
}

/// What an element of a list is.   Errors: [data/position] when it is of another type.
template <typename T>
T state_value(const StreamState& state) {
  try {
    return state.get<T>();
  } catch (const nlohmann::json::exception&) {
    throw stream_errors::damaged_state("a list has a value of another type");
  }
}

/// A field that is itself a position.   Errors: [data/position].
const StreamState& state_part(const StreamState& state, const char* name);
/// A list of `size` positions.   Errors: [data/position].
const StreamState& state_list(const StreamState& state, const char* name, size_t size);

/// Keys as short text, and back (without cuts).   Errors: [data/position].
std::string packed_keys(std::span<const CutItem> items);
std::vector<CutItem> unpacked_keys(const std::string& text);

/// The key with a number in front.
CutKey with_front(int64_t number, CutKey key);
/// Takes the first number off.   Errors: [data/position] when there is none, or it is not below
/// `end`.
int64_t take_front(CutKeyView& key, int64_t end);

/// A fingerprint of what a stream is and of what it is made of. Numbers without an option, as in
/// "chain 0 0 1 -1 0", were options once: saved positions stay valid.
uint64_t mixed_fingerprint(const std::string& own, std::span<const uint64_t> sources);
uint64_t mixed_fingerprint(const std::string& own, std::span<const StreamPtr> sources);

/// Weights that may be drawn with; `weights` may be empty: all 1.   Errors: [data/weights].
std::vector<double> checked_weights(const std::vector<double>& weights, size_t num_sources);

/// A stream of the rows of files. `on_bad` is told of each row that is bad, which is passed over;
/// empty: it is thrown.
class LeafStream : public CutStream {
 public:
  explicit LeafStream(files::OnBad on_bad) : on_bad_(std::move(on_bad)) {}
  std::optional<CutItem> next() override;

 protected:
  /// Goes on to the next row before its cut is made. Nothing at the end of the pass.
  virtual std::optional<CutKey> next_row() = 0;
  /// The cut of the row that next_row went on to; null when the row is passed over.
  virtual CutPtr read_row(const CutKey& key) { return make(key); }

 private:
  files::OnBad on_bad_;
};

/// A stream of the items of several others.   Key: number of the source, its key.
class ManySources : public CutStream {
 public:
  explicit ManySources(std::vector<StreamPtr> sources) : sources_(std::move(sources)) {}
  CutPtr make(CutKeyView key) const override;

 protected:
  /// Of all sources; nothing when one is not known.
  std::optional<int64_t> total_size() const;

  std::vector<StreamPtr> sources_;
};

/// A stream of the items of one other.
class OneSource : public CutStream {
 public:
  OneSource(StreamPtr source, std::string name)
      : source_(std::move(source)), name_(std::move(name)) {}
  uint64_t fingerprint() const override { return mixed_fingerprint(name_, {&source_, 1}); }
  void rewind(int64_t epoch) override { source_->rewind(epoch); }
  StreamState state() const override { return {{"source", source_->state()}}; }
  void restore(const StreamState& state) override { source_->restore(state_part(state, "source")); }
  CutPtr make(CutKeyView key) const override { return source_->make(key); }

 protected:
  CutStream& source() { return *source_; }
  const CutStream& source() const { return *source_; }

 private:
  StreamPtr source_;
  std::string name_;
};

}  // namespace s2s::data
