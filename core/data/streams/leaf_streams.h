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

/// Reads cuts of JSONL manifests (plain, gzip or "pipe:CMD"), one file after the other. Empty lines
/// are skipped. Relative audio paths are relative to the manifest's folder (s2s::resolve_paths). A
/// file is opened, and its index made, when it is first needed; `size` opens all files. `on_bad` is
/// called for each line that is no cut, which is skipped, and for files with a damaged end. Without
/// `on_bad` the error is thrown.
/// Key: file, row.   Errors: [data/missing-file], [data/url].
StreamPtr open_manifests(std::vector<std::string> paths, files::OnBad on_bad = {});

/// Reads the cuts of a Lhotse Shar directory, or of shards by field, one shard after the other.
/// Unless `keep_order` is set, each pass shuffles the shards with shard_seed + epoch. With a
/// slice_length, each shard gives that many consecutive cuts, beginning at a random one. The order
/// of cuts is that of lhotse's CutSet.from_shar with the same options.
/// Key: shard, row, epoch.   Source: lhotse LazySharIterator.
StreamPtr open_shar(const InputFiles& files, const InputAttributes& attributes);
/// Counts the cuts of all shards; opens the shards one after the other.
int64_t num_shar_cuts(const InputFiles& files, const InputAttributes& attributes);

/// Reads cuts of NeMo's JSON manifests of audio files. Relative audio paths are relative to the
/// manifest's folder. With `metadata_only` no audio header is read, and a missing sampling rate
/// means 16 kHz. `size` is the number of lines including skipped entries, as in NeMo.
/// Key: file, row.
/// Errors: [data/nemo-manifest], [data/unreadable-audio], those of line files.
/// Source: nemo LazyNeMoIterator. One difference: when a line has an offset and a sampling rate,
/// the recording here ends where the cut ends. NeMo sets the recording's duration to the cut's and
/// so loses the end of the cut.
StreamPtr open_nemo_manifests(std::vector<std::string> paths, const InputAttributes& attributes);

/// Reads cuts of NeMo's tarred data sets in the order of the tars' members. The audio stays in the
/// tar (kSharPointer). `size` is the number of entries, as in NeMo.
/// Key: shard, first byte of the member, row of the entry.
/// Errors: [data/nemo-shards], [data/nemo-manifest], [data/nemo-member], [data/tar]. Unreadable
/// audio is an error when the audio is loaded.
/// Source: nemo LazyNeMoTarredIterator. Where it copies a part of a recording, the cut here begins
/// at an offset.
StreamPtr open_nemo_tars(const InputFiles& files, const InputAttributes& attributes);
/// Splits a tarred data set into one set per shard, for mixing with a limit of open streams.
/// Returns nothing when a single manifest serves all tars, because it cannot be split.
/// Errors: those of open_nemo_tars.
std::vector<InputFiles> nemo_tar_shards(const InputFiles& files, const files::OnBad& on_bad);

/// Reads NeMo's and ShareGPT's conversations as duplex dialogues, in which turns follow each other.
/// Audio of the user becomes the cut's recording, audio of the assistant becomes target_audio. An
/// assistant's text turn without audio begins at the end of the turn before it and lasts
/// spoken_seconds.
/// Key: file, row, and for tars the first byte of the member with the first audio turn.
/// Errors: [data/conversation], [data/unreadable-audio], those of line files and tars.
/// Source: order and ids as nemo NeMoMultimodalConversationJsonlAdapter and its ShareGPT variant.
StreamPtr open_conversations(const InputNode& node);

}  // namespace s2s::data
