#pragma once
// Cuts by their number, of everything that a command line can name.

#include <memory>
#include <string>

#include "shar/cut_rows.h"

namespace s2s::data {

/// `source`: what open_cut_rows takes, and all that open_input does (NeMo's manifests, input_cfg, a
/// run's configuration), which is gone through once to number its cuts: a few numbers of each are
/// kept. `options.on_progress` hears how many, with the whole number when it is known,
/// `options.on_damage` of cuts that are left out because they are bad. Errors: those of
/// open_cut_rows and open_input, [data/empty].
std::unique_ptr<CutRows> open_input_rows(const std::string& source,
                                         const files::OpenOptions& options);

}  // namespace s2s::data
