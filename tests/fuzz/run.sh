#!/usr/bin/env bash
# usage: bash tests/fuzz/run.sh TARGET|all [SECONDS] [--large] [--torch TORCH_ROOT]
#        bash tests/fuzz/run.sh TARGET --minimize
# Builds one of the targets (all: each after the other) with clang's address and undefined-behavior
# sanitizers and fuzzes it with libFuzzer for SECONDS (600), beginning with its corpus; --minimize
# writes into build-fuzz/TARGET/minimal what of the corpus and of earlier runs' finds is needed to
# reach the same code. A find that breaks something lies in build-fuzz/TARGET: repair the code, and
# add the find to the corpus.
# --large: inputs of up to 1 MB, which have to be done within 1 GB and 20 s (with the sanitizers'
# share, on a busy machine), beginning with deep, wide and repeated ones (large_seeds.py).
# TARGET: a file fuzz_TARGET.cc beside this one
set -euo pipefail
shopt -s extglob

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cd "$root"
target='' seconds=600 mode=small torch=''
while [ $# -gt 0 ]; do
  case $1 in
    --large) mode=large ;;
    --minimize) mode=minimize ;;
    --torch) torch=${2:?--torch needs a folder}; shift ;;
    +([0-9])) seconds=$1 ;;
    -*) echo "error: [fuzz/usage] unknown option '$1'" >&2; exit 2 ;;
    *) target=$1 ;;
  esac
  shift
done
[ -n "$target" ] || { sed -n '2,3s/^# //p' "${BASH_SOURCE[0]}"; exit 2; }
if [ "$target" = all ]; then
  found=()
  more=()
  [ $mode = small ] || more=("--$mode")
  [ -z "$torch" ] || more+=(--torch "$torch")
  for file in tests/fuzz/fuzz_*.cc; do
    name=$(basename "$file" .cc)
    echo "== ${name#fuzz_}, $seconds s"
    bash "${BASH_SOURCE[0]}" "${name#fuzz_}" "$seconds" "${more[@]}" || found+=("${name#fuzz_}")
  done
  echo "finds: ${found[*]:-none}"
  exit $(( ${#found[@]} > 0 ))
fi
[ -f build/lib/libs2s_core.so ] || { echo "build the project in build/ first"; exit 2; }
[ -f "tests/fuzz/fuzz_$target.cc" ] || { echo "no target '$target'"; exit 2; }
command -v clang++ >/dev/null || { echo "skipped: there is no clang++"; exit 77; }
torch=${torch:-$(sed -n 's/^S2S_TORCH_ROOT:[A-Z]*=//p' build/CMakeCache.txt)}

# What a target compiles with instrumentation; the rest is the built libs2s_core, LibTorch and the
# packages as they are.
config='core/foundation/config/{config,config_errors,options,option_values,scalar}.cc'
yaml='core/foundation/config/{yaml_reader,yaml_writer,interpolation,interpolation_text}.cc'
yaml+=' core/foundation/config/{config_tree,load_config}.cc'
weights='core/model/weights/weights_errors.cc'
lines='core/data/files/{json_fields,json_line,json_text,files_errors}.cc'
sources='core/foundation/base/{error,foreign_json,foreign_text}.cc'
libraries='-ls2s_core -ls2s_data -lc10 -lutf8proc'
case $target in
  audio_header)
    sources+=' core/data/audio/{audio_reader,audio_bytes,audio_format,audio_errors}.cc'
    libraries+=' -lsndfile -ltorch_cpu' ;;
  braces)
    sources+=' core/foundation/base/regex.cc core/data/files/{brace_expansion,files_errors}.cc'
    libraries+=' -lpcre2-8' ;;
  config_json)
    sources+=" $config $weights plugins/llm/@(llama|tinyllama|gemma|qwen)/*.cc"
    sources+=' core/model/nn/decoder/decoder_{options,hf_config}.cc'
    sources+=' core/model/weights/json_file.cc'
    libraries+=' -ltorch_cpu' ;;
  cut_line)
    sources+=' core/data/cuts/{cut_json,cut_parts_json,cut_to_json,cuts,cuts_errors,mixed_cut}.cc'
    sources+=" core/data/cuts/frames.cc $lines"
    libraries+=' -lsimdjson -ltorch_cpu' ;;
  generation_config)
    sources+=" $config plugins/encoders/whisper/{generation_config,languages}.cc"
    sources+=' plugins/encoders/whisper/whisper_{errors,options}.cc'
    libraries+=' -ltorch_cpu' ;;
  gzip | gzip_index)
    sources+=' core/data/files/{gzip_stream,gzip_index,offset_index,byte_file,files_errors}.cc'
    libraries+=' -lz' ;;
  input_cfg)
    sources+=" $config $yaml core/data/streams/{input_tree,input_item,source_files}.cc"
    sources+=' core/data/streams/stream_errors.cc'
    sources+=' core/data/files/{brace_expansion,files_errors}.cc'
    libraries+=' -lyaml-cpp' ;;
  jinja)
    sources+=' core/data/jinja/*.cc core/data/files/json_text.cc'
    sources+=' core/foundation/base/interrupt.cc' ;;
  json_line)
    sources+=" $lines core/data/cuts/{cut_parts_json,cuts_errors}.cc"
    libraries+=' -lsimdjson' ;;
  kaldi) sources+=' core/data/convert/{kaldi_files,convert_errors}.cc' ;;
  kept_codes)
    sources+=' core/data/duplex/kept_codes.cc core/data/cuts/cut_array.cc core/data/files/npy.cc'
    sources+=" core/data/cuts/{cut_json,cut_parts_json,cuts,cuts_errors}.cc $lines"
    libraries+=' -lsimdjson -ltorch_cpu' ;;
  kyutai_config)
    sources+=" $config plugins/models/two_level/{kyutai_config,two_level_errors}.cc"
    sources+=' plugins/models/two_level/{moshi_options,hf_blocks}.cc'
    sources+=' core/model/nn/decoder/decoder_{options,hf_config}.cc'
    libraries+=' -ltorch_cpu' ;;
  line_index) sources+=' core/data/files/{line_file,offset_index,byte_file,files_errors}.cc' ;;
  metrics)
    sources+=' core/training/train/{run_folder,train_errors}.cc'
    sources+=' core/training/eval/report/training_curves.cc' ;;
  nemo_archive)
    sources+=" $config $yaml $weights core/interop/nemo/nemo_archive.cc"
    sources+=' core/model/weights/{archives,torch_file,pickle,torch_calls,weight_mapping}.cc'
    libraries+=' -ltorch_cpu -lyaml-cpp -lminizip -larchive' ;;
  nemo_config)
    sources+=" $config $yaml $weights core/interop/nemo/recognizer_config.cc"
    sources+=' plugins/codecs/nemo_audio_codec/{translate,nemo_audio_codec_errors}.cc'
    sources+=' plugins/codecs/nemo_audio_codec/nemo_audio_codec_options.cc'
    sources+=' plugins/encoders/fastconformer/{translate,fastconformer_options}.cc'
    sources+=' core/model/nn/speech/conformer_options.cc'
    libraries+=' -ltorch_cpu -lyaml-cpp' ;;
  nemo_line)
    sources+=' core/data/streams/{nemo_entry,nemo_cut,stream_errors}.cc'
    sources+=' core/data/cuts/{cut_to_json,cuts,cut_truncate}.cc core/data/files/json_text.cc'
    libraries+=' -ltorch_cpu' ;;
  npy)
    sources+=' core/data/files/{npy,files_errors}.cc'
    libraries+=' -ltorch_cpu' ;;
  pickle) sources+=" $weights core/model/weights/{pickle,torch_calls}.cc" ;;
  checkpoint_index)
    sources+=' core/model/weights/{checkpoint_index,tensor_runs,block_checksums}.cc'
    sources+=" $weights"
    libraries+=' -ltorch_cpu -lz' ;;
  plugin_note)
    sources+=' core/model/plugin/{elf_file,elf_note,plugin_facts,plugin_errors,component_id}.cc'
    libraries+=' -ltorch_cpu' ;;
  safetensors_header) sources+=" $weights core/model/weights/safetensors_header.cc" ;;
  sentencepiece)
    sources+=' plugins/tokenizers/sentencepiece/{sentencepiece_tokenizer,sentencepiece_errors}.cc'
    sources+=' plugins/tokenizers/sentencepiece/{model_proto,transformers_*}.cc'
    libraries+=' -lsentencepiece' ;;
  silero)
    sources+=" $weights plugins/metrics/turn_taking/silero.cc"
    sources+=' core/model/weights/{safetensors_header,torch_file,pickle,torch_calls}.cc'
    libraries+=' -ltorch_cpu' ;;
  store_text)
    sources+=' core/model/comm/{rank0,store_frames,comm_errors}.cc'
    libraries+=' -ltorch_cpu' ;;
  tar) sources+=' core/data/files/{tar_index,tar_header,byte_file,files_errors}.cc' ;;
  text_grid) sources+=' core/data/convert/{text_grid,turns,convert_errors}.cc' ;;
  tokenizer_json)
    sources+=" $config plugins/tokenizers/hf/!(plugin|train).cc"
    libraries+=' -lpcre2-8' ;;
  torch_file)
    sources+=" $weights core/model/weights/{torch_file,archives,pickle,torch_calls}.cc"
    sources+=' core/model/weights/weight_mapping.cc'
    libraries+=' -ltorch_cpu -lminizip -larchive' ;;
  weight_index) sources+=" $weights core/model/weights/{weight_folder,json_file}.cc" ;;
  yaml)
    sources+=" $config $yaml"
    libraries+=' -lyaml-cpp' ;;
esac

corpus=tests/fuzz/corpus/$target
work=build-fuzz/$target
rm -rf "$work/objects"
mkdir -p "$work"/{found,objects} build-fuzz/units

# The sources of a folder are compiled together, as in the build. Targets share these units, so that
# ccache finds them again.
declare -A units
for source in "tests/fuzz/fuzz_$target.cc" $(eval echo "$sources"); do
  units[${source%/*}]+="#include \"$source\""$'\n'
done
for folder in "${!units[@]}"; do
  sum=$(cksum <<< "${units[$folder]}")
  unit=build-fuzz/units/${folder//\//.}.${sum%% *}.cc
  [ -f "$unit" ] || printf '%s' "${units[$folder]}" > "$unit"
  # Several plugins in one program: each registration function has its folder's name.
  printf '%s\0%s\0' "$unit" "${folder##*/}"
done > "$work/units"
launcher=$(command -v ccache || true)
compile() {  # compile UNIT NAME
  $launcher clang++ -std=c++20 -O1 -g -fsanitize=fuzzer-no-link,address,undefined \
    -fno-sanitize-recover=undefined -DFMT_HEADER_ONLY=1 -iquote . -Icore/include \
    -Icore/foundation -Icore/data -Icore/model -Icore/interop -Icore/training -Itests -Iplugins \
    -Iplugins/tokenizers/sentencepiece -isystem "$torch/include" \
    -isystem "$torch/include/torch/csrc/api/include" -Ds2s_plugin_register="register_$2" \
    -Ds2s_plugin_note_v1="note_$2" -c "$1" -o "$work/objects/$(basename "$1" .cc).o"
}
export -f compile
export launcher torch work
jobs=$(env -u OMP_NUM_THREADS nproc)
xargs -0 -P "$jobs" -n 2 bash -c 'compile "$@"' compile < "$work/units"
clang++ -fsanitize=fuzzer,address,undefined "$work"/objects/*.o -Lbuild/lib -L"$torch/lib" \
  -Wl,-rpath,"$PWD/build/lib:$torch/lib" $libraries -o "$work/fuzz"

limits=(-max_len=4096 -rss_limit_mb=2048 -timeout=10)
seeds=("$work/found" "$corpus")
if [ $mode = large ]; then
  limits=(-max_len=1048576 -rss_limit_mb=1024 -timeout=20 -len_control=0)
  rm -rf "$work/large"
  python3 tests/fuzz/large_seeds.py "$target" "$corpus" "$work/large"
  mkdir -p "$work/found-large"
  seeds=("$work/found-large" "$work/large" "$corpus")
  # Freed memory and the fuzzer's own inputs count for the limit, too.
  export ASAN_OPTIONS=quarantine_size_mb=16${ASAN_OPTIONS:+:$ASAN_OPTIONS}
fi
limits+=("-artifact_prefix=$work/")
if [ $mode = minimize ]; then
  rm -rf "$work/minimal" && mkdir "$work/minimal"
  exec "$work/fuzz" "${limits[@]}" -merge=1 "$work/minimal" "$corpus" "$work/found"
fi
words=tests/fuzz/dictionaries/$target.txt
[ ! -f "$words" ] || limits+=("-dict=$words")
exec "$work/fuzz" "${limits[@]}" -max_total_time="$seconds" "${seeds[@]}"
