#pragma once
// The keys of FSDP's settings and of accelerate's file.

#include "s2s/foreign_keys.h"

namespace s2s::interop {

ForeignKeys fsdp_keys();
ForeignKeys accelerate_keys();

}  // namespace s2s::interop
