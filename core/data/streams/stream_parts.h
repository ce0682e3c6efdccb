#pragma once
// Functions and base classes that several streams share.

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

/// Runs `make` for a row. Returns false, after a call of `on_bad`, when the row's data is bad.
/// Without `on_bad` the error is thrown.
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

/// Returns a field of a saved position.
/// Errors: [data/position] when it is absent or of another type.
template <typename T>
T state_field(const StreamState& state, const char* name) {
  try {
    return state.at(name).get<T>();
  } catch (const nlohmann::json::exception&) {
    throw stream_errors::damaged_state(std::string("'") + name + "' is missing or of another type");
  }
}

/// Returns the value of a list's element.   Errors: [data/position] when it has another type.
template <typename T>
T state_value(const StreamState& state) {
  try {
    return state.get<T>();
  } catch (const nlohmann::json::exception&) {
    throw stream_errors::damaged_state("a list has a value of another type");
  }
}

/// Returns a field that is itself a position.   Errors: [data/position].
const StreamState& state_part(const StreamState& state, const char* name);
/// Returns a list of `size` positions.   Errors: [data/position].
const StreamState& state_list(const StreamState& state, const char* name, size_t size);

/// Stores the keys of items as short text, and reads them back without cuts.
/// Errors: [data/position].
std::string packed_keys(std::span<const CutItem> items);
std::vector<CutItem> unpacked_keys(const std::string& text);

/// Returns the key with a number put in front.
CutKey with_front(int64_t number, CutKey key);
/// Removes and returns the first number of a key.
/// Errors: [data/position] when there is none, or when it is not in [0, end).
int64_t take_front(CutKeyView& key, int64_t end);

/// Fingerprint of a stream's own settings and of its sources. The numbers without meaning in texts
/// such as "chain 0 0 1 -1 0" are values of former options; they keep saved positions valid.
uint64_t mixed_fingerprint(const std::string& own, std::span<const uint64_t> sources);
uint64_t mixed_fingerprint(const std::string& own, std::span<const StreamPtr> sources);

/// Checks weights for drawing. Returns all 1 for empty `weights`.   Errors: [data/weights].
std::vector<double> checked_weights(const std::vector<double>& weights, size_t num_sources);

/// A stream of the rows of files. Bad rows are skipped, and `on_bad` is called for each; without
/// `on_bad` the error is thrown.
class LeafStream : public CutStream {
 public:
  explicit LeafStream(files::OnBad on_bad) : on_bad_(std::move(on_bad)) {}
  std::optional<CutItem> next() override;

 protected:
  /// Moves to the next row and returns its key, before the cut is made. Nothing at the end of the
  /// pass.
  virtual std::optional<CutKey> next_row() = 0;
  /// Returns the cut of the row that next_row moved to, or null when the row is skipped.
  virtual CutPtr read_row(const CutKey& key) { return make(key); }

 private:
  files::OnBad on_bad_;
};

/// A stream that gives the items of several others.   Key: number of the source, then its key.
class ManySources : public CutStream {
 public:
  explicit ManySources(std::vector<StreamPtr> sources) : sources_(std::move(sources)) {}
  CutPtr make(CutKeyView key) const override;

 protected:
  /// Sum of the sources' sizes; nothing when one of them is unknown.
  std::optional<int64_t> total_size() const;

  std::vector<StreamPtr> sources_;
};

/// A stream that gives the items of one other stream.
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
