#pragma once
// Empty: ProcessGroupGloo.hpp includes it but uses nothing of it.
