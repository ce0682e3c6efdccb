#pragma once
// Opens what a command line names (a manifest, a Shar directory, a YAML file) for one pass.

#include <memory>
#include <string>
#include <vector>

#include "files/index_place.h"
#include "shar/cut_rows.h"
#include "streams/combinators.h"
#include "streams/input_tree.h"

namespace s2s::data {

/// Gives the cuts of `source` once, in the order of the files, without shuffling, filters or
/// changes:
///   a directory            Lhotse Shar
///   *.jsonl, *.jsonl.gz    Lhotse cuts, or NeMo's manifest if its first line has audio_filepath
///   *.json, pipe:CMD       NeMo's manifest, or cuts if its first line looks like one
///   KEY=VALUE, [[...]]     that key of a data set's block, or a list of manifests, both as YAML
///   *.yaml, *.yml          a list of sources (input_cfg), a data set's block with cuts_path,
///                          shar_path, manifest_filepath or input_cfg, or a run's configuration:
///                          its data.train_ds
/// With `metadata_only`, audio files are not opened to find what NeMo's manifests do not say.
/// Bad cuts are skipped, and `on_bad` is called for each; without `on_bad` their error is thrown.
/// Errors: [data/input], [data/missing-file], those of configuration and of the sources.
StreamPtr open_input(const std::string& source, bool metadata_only = false,
                     files::OnBad on_bad = {});

/// Gives the cuts of `source` in the order in which NeMo's scripts see them when they sample a set:
/// mixed by weights and shuffled as the source says, with `seed` where it names none. Reads
/// manifests only, no audio. Ends after one pass, except for lists of Shar directories, which NeMo
/// repeats.
StreamPtr open_sampled_input(const std::string& source, int64_t seed);

/// Allows the commands that are part of a command line's `source` (pipe:CMD, KEY=pipe:CMD), but not
/// those in the file that it names.
void allow_commands_of_source(const std::string& source);

/// Parses what `source` names and opens nothing.
InputNode parse_input_source(const std::string& source, bool metadata_only = false);

/// Changes a tree so that it gives each cut once and in order.
void make_finite(InputNode& node);

/// Opens `source` for access by row: what open_cut_rows takes, and all that open_input takes
/// (NeMo's manifests, input_cfg, a run's configuration). The latter are read through once to number
/// their cuts, and a few numbers are kept for each. `options.on_progress` gets the number of cuts
/// so far and, when it is known, the total. `options.on_damage` gets the error of each bad cut,
/// which is left out.
/// Errors: those of open_cut_rows and open_input, [data/empty].
std::unique_ptr<CutRows> open_input_rows(const std::string& source,
                                         const files::OpenOptions& options);

/// The same for a data set's block of a configuration, whose paths are relative to the current
/// folder. `path`: of the block, in messages.
std::unique_ptr<CutRows> open_block_rows(const Config& block, const std::string& path,
                                         const files::OpenOptions& options);

}  // namespace s2s::data
