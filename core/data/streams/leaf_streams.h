#pragma once
// Streams that read files: Lhotse's manifests and Shar sets, NeMo's manifests, tars and
// conversations.

#include <cstdint>
#include <string>
#include <vector>

#include "files/index_place.h"
#include "streams/combinators.h"
#include "streams/input_tree.h"

namespace s2s::data {

/// Cuts of JSONL manifests (plain, gzip or "pipe:CMD"), one file after the other. Empty lines are
/// passed over, and relative paths of audio are looked up beside the manifest
/// (s2s::resolve_paths). A file is opened (and its index made, if it has none) when it is first
/// needed; `size` needs all. `on_bad` is told of each line that is no cut, which is passed over,
/// and of files whose end is damaged; empty: it is thrown.
/// Key: file, row.   Errors: [data/missing-file] for a path that is not there, [data/url].
StreamPtr open_manifests(std::vector<std::string> paths, files::OnBad on_bad = {});

/// Cuts of a Lhotse Shar directory, or of shards by field, a shard after the other. Unless
/// `keep_order`, each pass has another order of shards: that of shard_seed + epoch. With a
/// slice_length, each shard gives only so many consecutive cuts, from a drawn one on. The order of
/// cuts is that of lhotse's CutSet.from_shar with the same options.
/// Key: shard, row, epoch.   Source: lhotse LazySharIterator.
StreamPtr open_shar(const InputFiles& files, const InputAttributes& attributes);
/// Of all shards; opens them one after the other.
int64_t num_shar_cuts(const InputFiles& files, const InputAttributes& attributes);

/// Cuts of NeMo's JSON manifests of audio files. Relative audio paths are below the manifest's
/// folder. With `metadata_only` no audio header is read; rates that are not written are 16 kHz.
/// `size` is the number of lines, as NeMo counts: entries that are skipped count, too.
/// Key: file, row.
/// Errors: [data/nemo-manifest], [data/unreadable-audio], those of line files.
/// Source: nemo LazyNeMoIterator; where a line has an offset and a sampling rate, the recording
/// ends with the cut here (there, its duration is the cut's, which loses the end of the cut).
StreamPtr open_nemo_manifests(std::vector<std::string> paths, const InputAttributes& attributes);

/// Cuts of NeMo's tarred data sets in the order of the tars' members; audio stays in the tar
/// (kSharPointer). `size` is the number of entries, as NeMo counts.
/// Key: shard, first byte of the member, row of the entry.
/// Errors: [data/nemo-shards], [data/nemo-manifest], [data/nemo-member], [data/tar].
/// Source: nemo LazyNeMoTarredIterator. Where it copies a part of a recording, here the cut begins
/// at its offset. Unreadable audio is an error of whoever loads it.
StreamPtr open_nemo_tars(const InputFiles& files, const InputAttributes& attributes);
/// Each shard as a tarred data set of its own (for mixing with a limit of open streams). A single
/// manifest for all tars cannot be taken apart: nothing.   Errors: those of open_nemo_tars.
std::vector<InputFiles> nemo_tar_shards(const InputFiles& files, const files::OnBad& on_bad);

/// NeMo's and ShareGPT's conversations as duplex dialogues, the turns one after the other: audio of
/// users in the cut's recordings, audio of the assistant in target_audio. A text turn of the
/// assistant without audio begins where the turn before it ends and lasts spoken_seconds.
/// Key: file, row, and of tars the first byte of the first audio turn's member.
/// Errors: [data/conversation], [data/unreadable-audio], those of line files and tars.
/// Source: order and ids as nemo NeMoMultimodalConversationJsonlAdapter and its ShareGPT variant.
StreamPtr open_conversations(const InputNode& node);

}  // namespace s2s::data
