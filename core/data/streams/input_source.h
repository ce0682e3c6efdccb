#pragma once
// One pass over what a command line names: a manifest, a Shar directory, a YAML file.

#include <memory>
#include <string>
#include <vector>

#include "files/index_place.h"
#include "shar/cut_rows.h"
#include "streams/combinators.h"
#include "streams/input_tree.h"

namespace s2s::data {

/// The cuts of `source` once, in the order of the files, not shuffled, filtered or changed:
///   a directory            Lhotse Shar
///   *.jsonl, *.jsonl.gz    Lhotse cuts, or NeMo's manifest if its first line has audio_filepath
///   *.json, pipe:CMD       NeMo's manifest; cuts if its first line looks like one
///   KEY=VALUE, [[...]]     that key of a data set's block, a list of manifests: as YAML
///   *.yaml, *.yml          a list of sources (input_cfg), a data set's block with cuts_path,
///                          shar_path, manifest_filepath or input_cfg, or a run's configuration:
///                          its data.train_ds
/// `metadata_only`: what NeMo's manifests do not say of audio is not looked up.
/// Errors: [data/input], [data/missing-file], those of configuration and of the sources.
/// `on_bad`: told of each cut that is bad, which is passed over; empty: it is thrown.
StreamPtr open_input(const std::string& source, bool metadata_only = false,
                     files::OnBad on_bad = {});

/// The cuts of `source` as NeMo's scripts sample them, which look at the first so many: mixed by
/// weights and shuffled as the source says, by `seed` where it names none; of manifests only what
/// they say. Ends after one pass, but for lists of Shar directories, which NeMo repeats.
StreamPtr open_sampled_input(const std::string& source, int64_t seed);

/// Allows the commands that a command line's `source` holds itself (pipe:CMD, KEY=pipe:CMD); not
/// those in the file that it names.
void allow_commands_of_source(const std::string& source);

/// The input that `source` names, not open.
InputNode parse_input_source(const std::string& source, bool metadata_only = false);

/// Changes a tree so that it gives each cut once, in order.
void make_finite(InputNode& node);

/// `source`: what open_cut_rows takes, and all that open_input does (NeMo's manifests, input_cfg, a
/// run's configuration), which is gone through once to number its cuts: a few numbers of each are
/// kept. `options.on_progress` hears how many, with the whole number when it is known,
/// `options.on_damage` of cuts that are left out because they are bad. Errors: those of
/// open_cut_rows and open_input, [data/empty].
std::unique_ptr<CutRows> open_input_rows(const std::string& source,
                                         const files::OpenOptions& options);

}  // namespace s2s::data
