#pragma once
// Errors of this scorer.

#include <string>

#include "s2s/error.h"

namespace s2s::pocketsphinx {

Error program_missing(const std::string& program);
Error model_missing(const std::string& path);
Error nothing_to_expect();
Error program_failed(const std::string& program, const std::string& status,
                     const std::string& log_end);
Error cannot_write(const std::string& path, const std::string& reason);

}  // namespace s2s::pocketsphinx
