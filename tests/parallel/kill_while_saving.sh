#!/usr/bin/env bash
# usage: kill_while_saving.sh BUILD_DIR [KILLS]
#
# kill -9 of one of three ranks at random moments while they save, a hundred times: the previous or
# the new checkpoint loads completely each time. A quick version is part of the tests.
set -euo pipefail
build=${1:?usage: kill_while_saving.sh BUILD_DIR [KILLS]}
S2S_TEST_KILLS=${2:-100} OMP_NUM_THREADS=1 \
  "$build/bin/parallel_checkpoint_test" --test-case="kill -9 of any rank*"
