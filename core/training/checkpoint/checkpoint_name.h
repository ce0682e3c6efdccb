#pragma once
// Names of checkpoints as checkpoint_callback_params.filename describes them.

#include <map>
#include <string>

namespace s2s {

/// Replaces {step}, {epoch} and {METRIC} in `pattern`, each with an optional format such as
/// {val_loss:.3f} or {step:06d}. A value that is missing is 0, as in Lightning.
/// `inserts_names`: {step} becomes step=N.
/// Errors: [config/filename] when the result would be no plain file name, or a format is not known.
/// Source: lightning/pytorch/callbacks/model_checkpoint.py, _format_checkpoint_name.
std::string checkpoint_name(const std::string& pattern, const std::map<std::string, double>& values,
                            bool inserts_names);

}  // namespace s2s
