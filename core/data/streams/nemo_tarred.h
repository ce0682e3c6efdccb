#pragma once
// NeMo's tarred data sets as a stream of cuts.

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "streams/cut_stream.h"
#include "streams/nemo_shards.h"
#include "streams/python_random.h"

namespace s2s::data {

struct NemoTarredOptions {
  std::vector<std::string> manifests;
  std::vector<std::string> tars;
  NemoFields fields;
  bool shuffle_shards = false;
  int64_t shard_seed = 0;
  bool skip_missing_manifest_entries = false;
  std::optional<int64_t> slice_length = {};
  /// Told of each entry that is bad or whose audio is lost, which is passed over. Empty: thrown.
  files::OnBad on_bad = {};
};

/// Cuts in the order of the tars' members; audio stays in the tar (kSharPointer). Tokens: shard,
/// first byte of the member, row of the entry.
/// Errors: [data/nemo-shards], [data/nemo-manifest], [data/nemo-member], [data/tar].
/// Source: nemo LazyNeMoTarredIterator. Where it copies a part of a recording, here the cut begins
/// at its offset. Unreadable audio is an error of whoever loads it.
class NemoTarredStream : public CutStream {
 public:
  explicit NemoTarredStream(NemoTarredOptions options);

  std::optional<CutItem> next() override;
  void rewind(int64_t epoch) override;
  StreamState state() const override;
  void restore(const StreamState& state) override;
  std::shared_ptr<const Cut> make(CutKeyView token) const override;
  uint64_t fingerprint() const override;
  /// Entries, as NeMo counts.
  std::optional<int64_t> size() const override;
  /// Each shard as a stream of its own (for mixing with a limit of open streams), as NeMo opens
  /// them: in order, whole. A single manifest for all tars cannot be taken apart: nothing.
  std::vector<NemoTarredOptions> shards() const;

 private:
  struct Part {  // the shard that is read
    size_t shard = 0;
    std::shared_ptr<const files::ByteFile> tar;
    std::unordered_map<std::string, std::vector<int64_t>> rows;
  };

  void shuffle_shards();
  void open_part();
  void draw_slice();
  std::optional<files::TarMember> read_member();
  bool next_member();
  void report_lost(const Part& part, const Error& damage) const;
  void take_member(const files::TarMember& member, const std::vector<int64_t>& rows);
  std::vector<CutItem> cuts_of_member(int64_t offset) const;
  std::shared_ptr<const Cut> make_cut(size_t shard, const files::TarMember& member,
                                      const NemoEntry& entry) const;

  NemoTarredOptions options_;
  NemoShards shards_;
  int64_t epoch_ = 0;
  PythonRandom random_;
  std::vector<size_t> order_;
  size_t part_index_ = 0;  // in the order
  std::optional<Part> part_;
  int64_t offset_ = 0;        // of the next member's header
  int64_t member_index_ = 0;  // of the next member
  int64_t num_taken_ = 0;     // members of the part that gave cuts
  int64_t slice_begin_ = -1;
  std::vector<CutItem> waiting_;  // of the current member
  size_t next_waiting_ = 0;
  int64_t waiting_offset_ = 0;
};

}  // namespace s2s::data
