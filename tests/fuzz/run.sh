#!/usr/bin/env bash
# usage: bash tests/fuzz/run.sh TARGET [SECONDS] [TORCH_ROOT]
#        bash tests/fuzz/run.sh TARGET --minimise
# Builds one of the targets with clang's address and undefined-behaviour sanitizers and fuzzes it
# with libFuzzer, beginning with its corpus; --minimise writes into build-fuzz/TARGET/minimal what
# of the corpus and of earlier runs' finds is needed to reach the same code. A find that breaks
# something lies in build-fuzz/TARGET: repair the code, and add the find to the corpus.
# TARGET: safetensors_header pickle torch_file tokenizer_json config_json plugin_note cut_line
#         tar line_index npy gzip gzip_index
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
target=${1:?usage: bash tests/fuzz/run.sh TARGET [SECONDS] [TORCH_ROOT]}
seconds=${2:-600}
torch=${3:-$(sed -n 's/^S2S_TORCH_ROOT:[A-Z]*=//p' "$root/build/CMakeCache.txt")}
[ -f "$root/build/lib/libs2s_core.so" ] || { echo "build the project in build/ first"; exit 2; }
[ -f "$root/tests/fuzz/fuzz_$target.cc" ] || { echo "no target '$target'"; exit 2; }
command -v clang++ >/dev/null || { echo "skipped: there is no clang++"; exit 77; }
cd "$root"

# What a target compiles with instrumentation; the rest is the built libs2s_core, LibTorch and the
# packages as they are.
config='core/src/config/{config,config_errors,option_reader,option_values,scalar}.cc'
weights='core/src/weights/weights_errors.cc'
sources='core/src/base/error.cc'
libraries='-ls2s_core -lc10'
case $target in
  safetensors_header) sources+=" $weights core/src/weights/safetensors_header.cc" ;;
  pickle) sources+=" $weights core/src/weights/{pickle,torch_calls}.cc" ;;
  torch_file)
    sources+=" $weights core/src/weights/{torch_file,zip_directory,pickle,torch_calls}.cc"
    sources+=' core/src/weights/{weight_mapping,archive_member}.cc'
    libraries+=' -ltorch_cpu -lminizip -larchive' ;;
  tokenizer_json)
    sources+=" $config plugins/tokenizers/hf/!(plugin|train).cc"
    libraries+=' -lpcre2-8 -lutf8proc' ;;
  config_json)
    sources+=" $config $weights plugins/llm/@(llama|tinyllama|gemma|qwen)/*.cc"
    sources+=' core/src/nn/decoder_{options,translate,to_foreign,errors}.cc'
    sources+=' core/src/weights/json_config.cc'
    libraries+=' -ltorch_cpu' ;;
  cut_line)
    sources+=' core/src/cuts/{cut_json,cut_parts_json,cut_to_json,cuts,cuts_errors,mixed_cut}.cc'
    sources+=' core/src/cuts/frames.cc'
    sources+=' core/src/files/{json_fields,json_line,json_text,files_errors}.cc'
    libraries+=' -lsimdjson -ltorch_cpu' ;;
  tar) sources+=' core/src/files/{tar_index,tar_header,byte_file,files_errors}.cc' ;;
  line_index) sources+=' core/src/files/{line_file,offset_index,byte_file,files_errors}.cc' ;;
  npy)
    sources+=' core/src/files/{npy,files_errors}.cc'
    libraries+=' -ltorch_cpu' ;;
  gzip | gzip_index)
    sources+=' core/src/files/{gzip_stream,gzip_index,offset_index,byte_file,files_errors}.cc'
    libraries+=' -lz' ;;
  plugin_note)
    sources+=' core/src/plugin/{elf_note,plugin_facts,plugin_errors,component_id}.cc'
    libraries+=' -ltorch_cpu' ;;
esac

corpus=tests/fuzz/corpus/$target
work=build-fuzz/$target
mkdir -p "$work/found"
launcher=$(command -v ccache || true)
compile=($launcher clang++ -std=c++20 -O1 -g -fsanitize=fuzzer-no-link,address,undefined
  -fno-sanitize-recover=undefined -DFMT_HEADER_ONLY=1 -Icore/include -Icore/src -Itests -Iplugins
  -isystem "$torch/include")
objects=()
shopt -s extglob
for source in "tests/fuzz/fuzz_$target.cc" $(eval echo "$sources"); do
  object=$work/${source//\//.}.o
  plugin=$(basename "$source" .cc)  # several plugins in one program
  "${compile[@]}" -Ds2s_plugin_register="register_$plugin" -Ds2s_plugin_note_v1="note_$plugin" \
    -c "$source" -o "$object"
  objects+=("$object")
done
clang++ -fsanitize=fuzzer,address,undefined "${objects[@]}" -Lbuild/lib -L"$torch/lib" \
  -Wl,-rpath,"$PWD/build/lib:$torch/lib" $libraries -o "$work/fuzz"

limits=(-max_len=4096 -rss_limit_mb=2048 -timeout=10 "-artifact_prefix=$work/")
if [ "$seconds" = --minimise ]; then
  rm -rf "$work/minimal" && mkdir "$work/minimal"
  exec "$work/fuzz" "${limits[@]}" -merge=1 "$work/minimal" "$corpus" "$work/found"
fi
words=tests/fuzz/dictionaries/$target.txt
[ ! -f "$words" ] || limits+=("-dict=$words")
exec "$work/fuzz" "${limits[@]}" -max_total_time="$seconds" "$work/found" "$corpus"
