#!/usr/bin/env bash
# LibTorch asks for two functions by name, and s2s-run answers (decision record 0007).
#
#   mkl_dispatch.sh S2S_RUN LIBTORCH_CPU
set -euo pipefail

# Not with grep -q: it would close the pipe before nm has written everything.
exports() { nm -D --defined-only "$1" | grep -c " T $2\$" >/dev/null; }

if [ "$(uname -m)" != x86_64 ]; then echo "skipped: not x86"; exit 77; fi
for name in mkl_serv_intel_cpu mkl_serv_intel_cpu_true; do
  exports "$1" $name || { echo "s2s-run does not export $name"; exit 1; }
  exports "$2" $name ||
    { echo "LibTorch no longer exports $name: decision 0007 has no effect"; exit 1; }
done
echo "ok: MKL's question about the processor is answered by s2s-run"
