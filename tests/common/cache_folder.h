#pragma once
// A cache folder for indexes, for tests.

#include <cstdlib>
#include <string>

#include "common/temporary_folder.h"

namespace s2s::test {

/// $XDG_CACHE_HOME is a new folder while this lives.
struct CacheFolder {
  TemporaryFolder folder;
  std::string before;
  CacheFolder() {
    if (const char* old = std::getenv("XDG_CACHE_HOME")) before = old;
    setenv("XDG_CACHE_HOME", folder.path().c_str(), 1);
  }
  ~CacheFolder() {
    before.empty() ? unsetenv("XDG_CACHE_HOME") : setenv("XDG_CACHE_HOME", before.c_str(), 1);
  }
};

}  // namespace s2s::test
