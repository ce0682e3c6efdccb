#pragma once
// One open shard: the shard files of all fields.

#include <cstdint>
#include <functional>
#include <future>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "files/index_place.h"
#include "files/line_file.h"
#include "files/tar_index.h"
#include "s2s/data/cuts.h"

namespace s2s::data {

/// Thread-safe.
class OpenShard {
 public:
  /// `fields` has names and paths. With `options.on_damage`, a missing, damaged or short file is an
  /// error of only those cuts that need it; `on_damage` is called only if nothing says how many
  /// these are.
  /// Errors: those of SharSet::num_cuts.
  OpenShard(const std::string& cuts_path,
            const std::vector<std::pair<std::string, std::string>>& fields,
            const files::OpenOptions& options);

  int64_t num_cuts() const { return num_cuts_; }
  /// Returns the cut with its fields. Errors: those of SharSet::cut.
  Cut cut(int64_t row) const;

 private:
  using Tar = std::shared_ptr<const files::TarPairs>;
  using Lines = std::shared_ptr<const files::LineFile>;
  struct Field {
    std::string name;
    std::string path;
    std::variant<Tar, Lines> items;  // null: the file cannot be opened
    std::optional<Error> damage;

    int64_t size() const;
  };

  [[noreturn]] void fail(int64_t row, const std::string& place, const Field* field) const;

  void attach(Cut& cut, const Field& field, const files::TarPairs& tar, int64_t row) const;
  void attach(Cut& cut, const Field& field, const files::LineFile& lines, int64_t row) const;

  std::string cuts_path_;
  Lines cuts_;  // null: the file cannot be opened
  std::optional<Error> damage_;
  std::vector<Field> fields_;
  int64_t num_cuts_ = 0;
};

/// Caches the shards that were used last. Thread-safe: while one thread opens a shard, others that
/// need the same shard wait.
class OpenShards {
 public:
  using Shard = std::shared_ptr<const OpenShard>;
  explicit OpenShards(size_t max_open) : max_open_(max_open) {}
  Shard get(int64_t shard, const std::function<Shard()>& open);

 private:
  struct Entry {
    int64_t shard;
    std::shared_future<Shard> open;
  };
  size_t max_open_;
  std::mutex mutex_;
  std::list<Entry> entries_;  // the most recently used first
};

/// Assigns cut.FIELD = value as Lhotse does. `recording` and `features` belong to the cut, or for a
/// mixed cut to its first track that is not padding. Every other field is custom.
void set_shar_field(Cut& cut, const std::string& field, CustomValue value);

}  // namespace s2s::data
