"""Reference files of transformers' WhisperForConditionalGeneration.generate (5.23; CPU, float32,
greedy unless a case says otherwise).

    python tests/reference/hf_whisper_generate.py --out tests/reference/data [--case NAME]

kind=scorer, name=whisper; options = config.json with generation_config.json as the block
`generation_config`, preprocessor = preprocessor_config.json. Random weights, fixed by seeds.

  weights/*              the state dict, under the names of files
  input/audio, lengths   noise; a window is one second
  input/labels [B,U]     what the decoder reads at once for `logits`
  output/features        last_hidden_state of the first window [B,T,H]; lengths: all of it is heard
  output/logits [B,U,V]  of `labels`, without a cache
  output/prompt [B,P]    the ids before the text: language, task, whether there are timestamps
  output/ids [B,N]       of `generate`, windows joined, -1 behind; id_lengths [B]
  output/segments [B,M,2]  seconds, -1 behind
  output/id_times [B,N]  token_timestamps of the segments, seconds; -1 behind
  output/id_probabilities [B,N]  of each id, from the scores of its step; -1 behind
  output/confidence [B]  exp of the mean log-probability of the windows with speech, whose ids
                         _retrieve_avg_logprobs counts; -1: there is none

Each clip goes through `generate` alone: a batch of long clips has other features at their ends, and
its times hang on how long the others write. The script checks that ids of short clips are the same
in a batch.

whisper_texts.json has the tokenizer.json of the multilingual cases, and their texts.
"""

import argparse
import json
import math
import tempfile
from pathlib import Path

import torch
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
from transformers import (
    GenerationConfig, WhisperConfig, WhisperFeatureExtractor, WhisperForConditionalGeneration,
)

import reference_file as rf

WINDOW = 16000
POSITIONS = 50
PIECES = ["a", "b", "c", "d", "e", "\u0120", "\u0120a", "\u0120b", "\u0120c", "\u0120d", "\u0120e",
          "ab", "cd", "\u0120ab", "\u0120de", ".", ",", "\u0120ca", "\u0120be", "ee"]
SPECIAL = {
    "many": ["<|endoftext|>", "<|startoftranscript|>", "<|en|>", "<|de|>", "<|fr|>",
             "<|translate|>", "<|transcribe|>", "<|startoflm|>", "<|startofprev|>", "<|nospeech|>",
             "<|notimestamps|>"],
    "english": ["<|endoftext|>", "<|startoftranscript|>", "<|translate|>", "<|transcribe|>",
                "<|startoflm|>", "<|startofprev|>", "<|nocaptions|>", "<|notimestamps|>"],
}


def ids_of(kind) -> dict:
    return {text: len(PIECES) + i for i, text in enumerate(SPECIAL[kind])}


def generation(kind, **more) -> dict:
    """A generation_config.json. With `plain`, timestamps are suppressed: trained models write none
    unless they are asked for."""
    ids = ids_of(kind)
    options = {
        "decoder_start_token_id": ids["<|startoftranscript|>"], "bos_token_id": len(PIECES),
        "eos_token_id": len(PIECES), "pad_token_id": len(PIECES),
        "no_timestamps_token_id": ids["<|notimestamps|>"], "max_length": 20,
        "prev_sot_token_id": ids["<|startofprev|>"], "is_multilingual": kind == "many",
        "suppress_tokens": [1, 14, *range(len(PIECES) + 1, ids["<|notimestamps|>"])],
        "begin_suppress_tokens": [5, len(PIECES)],
        "alignment_heads": [[0, 1], [1, 0], [1, 3]],
    }
    if kind == "many":
        options["lang_to_id"] = {text: ids[text] for text in ("<|en|>", "<|de|>", "<|fr|>")}
        options["task_to_id"] = {text: ids[f"<|{text}|>"] for text in ("transcribe", "translate")}
    if more.pop("plain", False):
        first = ids["<|notimestamps|>"] + 1
        options["suppress_tokens"] += range(first, first + POSITIONS + 1)
        options["return_timestamps"] = False
    return {**options, **more}


# Old folders have forced_decoder_ids; null is a language that is detected.
OLD = [[1, None], [2, ids_of("many")["<|transcribe|>"]]]
OLD_ENGLISH = [[1, ids_of("english")["<|notimestamps|>"]]]
# seed; model: keys of config.json that differ; generate: arguments, options of the scorer;
# brief: without `features` and `logits`, which other cases have; texts_only: of the model of
# `conditioned`, without a file.
CASES = {
    "plain": {"kind": "many", "lengths": (16000, 9333), "seed": 43,
              "generation": generation("many", plain=True, language="german", task="translate")},
    "detect": {"kind": "many", "lengths": (16000, 12345, 7000), "seed": 58,
               "model": {"activation_function": "gelu_new", "num_mel_bins": 10},
               "generation": generation("many", plain=True, forced_decoder_ids=OLD, max_length=24)},
    "english": {"kind": "english", "lengths": (15000, 4321), "seed": 43,
                "generation": generation("english", plain=True, forced_decoder_ids=OLD_ENGLISH,
                                         max_length=12)},
    "timestamps": {"kind": "many", "lengths": (16000, 9333), "seed": 58,
                   "generation": generation("many", return_timestamps=True, language="<|fr|>",
                                            max_initial_timestamp_index=10)},
    "long": {"kind": "many", "lengths": (52345, 23456), "seed": 59,
             "generation": generation("many", max_initial_timestamp_index=20, max_length=9,
                                      no_speech_threshold=0.002, logprob_threshold=-1.28)},
    # Above a temperature of 0, a clip begins with torch.manual_seed(0), as with `seed: 0`.
    "fallback": {"kind": "many", "lengths": (52345, 16000, 23456), "seed": 59, "brief": True,
                 "generation": generation("many", max_initial_timestamp_index=20, max_length=12,
                                          return_timestamps=True, top_k=30),
                 "generate": {"temperature": [0.0, 0.15, 0.6], "logprob_threshold": -1.15,
                              "compression_ratio_threshold": 0.8, "no_speech_threshold": 0.004}},
    "conditioned": {"kind": "many", "lengths": (52345, 33456), "seed": 59, "brief": True,
                    "generation": generation("many", max_initial_timestamp_index=20, max_length=9),
                    "generate": {"condition_on_prev_tokens": True, "temperature": [0.0, 0.8],
                                 "logprob_threshold": -1.15,
                                 "prompt_ids": [28, 6, 2, 12]}},
    "all_segments": {"kind": "many", "lengths": (52345, 33456), "seed": 59, "texts_only": True,
                     "generation": generation("many", max_initial_timestamp_index=20,
                                              max_length=9),
                     "generate": {"condition_on_prev_tokens": True, "prompt_ids": [28, 6],
                                  "prompt_condition_type": "all-segments"}},
}


def tokenizer_of(kind) -> Tokenizer:
    tokenizer = Tokenizer(models.BPE({text: i for i, text in enumerate(PIECES)}, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([AddedToken(text, special=True) for text in SPECIAL[kind]])
    # In published folders timestamps are not special.
    tokenizer.add_tokens([AddedToken(f"<|{i * 0.02:.2f}|>") for i in range(POSITIONS + 1)])
    return tokenizer


# generate takes them from its arguments alone.
THRESHOLDS = ("no_speech_threshold", "logprob_threshold")


def model_of(case, seed) -> WhisperForConditionalGeneration:
    gen = case["generation"]
    config = WhisperConfig(**{
        "num_mel_bins": 12, "d_model": 16, "encoder_layers": 2, "encoder_attention_heads": 4,
        "encoder_ffn_dim": 24, "decoder_layers": 2, "decoder_attention_heads": 4,
        "decoder_ffn_dim": 24, "vocab_size": tokenizer_of(case["kind"]).get_vocab_size(),
        "max_source_positions": POSITIONS, "max_target_positions": 28, "median_filter_width": 5,
        **{key: gen[key] for key in ("decoder_start_token_id", "bos_token_id", "eos_token_id",
                                     "pad_token_id")},
        **case.get("model", {})})
    model = WhisperForConditionalGeneration._from_config(config, attn_implementation="eager").eval()
    model.generation_config = GenerationConfig(
        **{key: value for key, value in gen.items() if key not in THRESHOLDS})
    model.arguments = {key: gen[key] for key in THRESHOLDS if key in gen}
    model.arguments |= case.get("generate", {})
    for i, (name, tensor) in enumerate(sorted(rf.unique_parameters(model).items())):
        if "norm" in name:
            rf.draw(tensor, 1000 * seed + i, float(name.endswith("weight")), 0.2)
        elif "embed_tokens" in name:
            rf.draw(tensor, 1000 * seed + i, 0.0, 0.35)
        elif "embed_positions" in name:
            rf.draw(tensor, 1000 * seed + i, 0.0, 1.2)
        elif name.endswith("bias"):
            rf.draw(tensor, 1000 * seed + i, 0.0, 0.2)
        else:
            rf.draw(tensor, 1000 * seed + i, 0.0, (2.0 / tensor[0].numel()) ** 0.5)
    return model


def heard(extractor, samples) -> dict:
    """What the documentation says to give to `generate`."""
    is_short = len(samples) <= WINDOW
    more = {} if is_short else {"truncation": False, "padding": "longest"}
    return dict(extractor(samples.numpy(), sampling_rate=16000, return_tensors="pt",
                          return_attention_mask=True, **more))


class Watch:
    """Keeps the temperature of each window, and its window's log-probabilities."""

    def __init__(self, model):
        self.model, self.plain = model, type(model)._need_fallback
        self.windows = []

    def __enter__(self):
        def need(sequence, outputs, index, processors, config, vocab_size, temperature):
            answer = self.plain(self.model, sequence, outputs, index, processors, config,
                                vocab_size, temperature)
            scale = temperature if temperature else 1.0
            scores = torch.stack(outputs[index]["scores"])[:len(sequence)].float()
            found = torch.log_softmax(scores * scale, -1)
            found = found.gather(1, sequence[-len(found):].unsqueeze(1)).squeeze(1).tolist()
            self.windows.append({"result": outputs[index], "log": found, "silent": answer[1],
                                 "temperature": temperature})
            return answer
        self.model._need_fallback = need
        return self

    def __exit__(self, *_):
        del self.model._need_fallback


def generated(model, given) -> dict:
    """Of one clip, all that `generate` returns for it. It changes its configuration."""
    config = GenerationConfig(**model.generation_config.to_dict())
    arguments = dict(model.arguments)
    if arguments:
        arguments["temperature"] = tuple(arguments.get("temperature", [0.0]))
    if "prompt_ids" in arguments:
        arguments["prompt_ids"] = torch.tensor(arguments["prompt_ids"])
    torch.manual_seed(0)
    with Watch(model) as watch:
        made = model.generate(**given, generation_config=config, return_segments=True,
                              return_token_timestamps=True, **arguments)
    segments = made["segments"][0]
    ids = [int(i) for segment in segments for i in segment["tokens"]]
    assert ids == made["sequences"][0].tolist()[:len(ids)]
    times = [float(t) for segment in segments for t in segment["token_timestamps"]]
    spans = [[float(segment["start"]), float(segment["end"])] for segment in segments]
    chances = []
    for segment in segments:
        window = [one for one in watch.windows if one["result"] is segment["result"]][0]
        begin, end = segment["idxs"]
        before = len(segment["result"]["sequences"]) - len(segment["result"]["scores"])
        chances += [math.exp(x) for x in window["log"][begin - before:end - before]]
    first = arguments.get("temperature", (None,))[0]
    last = [one for one, after in zip(watch.windows, watch.windows[1:] + [None])
            if after is None or after["temperature"] == first]
    logs = [x for one in last if not one["silent"] for x in one["log"]]
    return {"ids": ids, "times": times, "spans": spans, "chances": chances,
            "confidence": math.exp(sum(logs) / len(logs)) if logs else -1.0,
            "how": [(one["temperature"], one["silent"]) for one in last]}


def prompt_of(model, given) -> list:
    config = GenerationConfig(**model.generation_config.to_dict())
    frames = given["input_features"].shape[-1]
    model._set_return_timestamps(None, frames <= 2 * POSITIONS, config)
    return model._retrieve_init_tokens(given["input_features"], 1, config, model.config,
                                       2 * POSITIONS, {})[0].tolist()


def rows(lists, fill) -> torch.Tensor:
    width = max(max(len(one) for one in lists), 1)
    return torch.tensor([one + [fill] * (width - len(one)) for one in lists])


def outputs_of(model, extractor, inputs) -> dict:
    clips = [row[:n] for row, n in zip(inputs["audio"], inputs["lengths"].tolist())]
    given = [heard(extractor, clip) for clip in clips]
    first = torch.cat([one["input_features"][..., :2 * POSITIONS] for one in given])
    result = model(input_features=first, decoder_input_ids=inputs["labels"], use_cache=False)
    made = [generated(model, one) for one in given]
    times = [one["times"] for one in made]
    return {
        "features": result.encoder_last_hidden_state, "logits": result.logits,
        "lengths": torch.full((len(clips),), POSITIONS),
        "prompt": rows([prompt_of(model, one) for one in given], -1),
        "ids": rows([one["ids"] for one in made], -1),
        "id_lengths": torch.tensor([len(one["ids"]) for one in made]),
        "segments": rows([one["spans"] for one in made], [-1.0, -1.0]).float(),
        "id_times": rows(times, -1.0).float(),
        "id_probabilities": rows([one["chances"] for one in made], -1.0).float(),
        "confidence": torch.tensor([one["confidence"] for one in made]),
    }


def check_batch(model, extractor, inputs, outputs) -> None:
    """Short clips side by side have the same ids."""
    if max(inputs["lengths"].tolist()) > WINDOW:
        return
    clips = [row[:n].numpy() for row, n in zip(inputs["audio"], inputs["lengths"].tolist())]
    given = extractor(clips, sampling_rate=16000, return_tensors="pt")
    config = GenerationConfig(**model.generation_config.to_dict())
    batch = model.generate(given["input_features"], generation_config=config).tolist()
    for row, ids, count in zip(batch, outputs["ids"].tolist(), outputs["id_lengths"].tolist()):
        assert row[:count] == ids[:count], "a batch writes something else"


def computed(name, seed):
    """The case, computed with this seed."""
    case = CASES[name]
    model = model_of(case, seed)
    extractor = WhisperFeatureExtractor(feature_size=model.config.num_mel_bins, chunk_length=1)
    lengths = case["lengths"]
    generator = torch.Generator().manual_seed(seed)
    inputs = {"audio": rf.noise_audio(len(lengths), lengths, seed + 2000),
              "lengths": torch.tensor(lengths),
              "labels": torch.randint(0, len(PIECES), (len(lengths), 7), generator=generator)}
    outputs = outputs_of(model, extractor, inputs)
    return model, extractor, inputs, outputs


def write_case(out, name) -> list:
    case = CASES[name]
    seed = case["seed"]
    model, extractor, inputs, outputs = computed(name, seed)
    check_batch(model, extractor, inputs, outputs)
    twin = model_of(case, seed)
    rf.nudge(twin, seed)
    ratios = rf.noise_ratio(outputs, outputs_of(twin, extractor, inputs), 1e-4, 1e-4)
    worst = max(ratios, key=ratios.get)
    assert ratios[worst] < 0.5, f"ill-conditioned: {worst}"
    # A model that is computed anew: `generate` may leave something in it.
    tensors = {f"weights/{key}": value for key, value in
               rf.weights_of(model_of(case, seed)).items()}
    if case.get("brief"):
        del inputs["labels"], outputs["features"], outputs["logits"], outputs["lengths"]
    tensors |= {f"input/{key}": value for key, value in inputs.items()}
    tensors |= {f"output/{key}": value.contiguous() for key, value in outputs.items()}
    with tempfile.TemporaryDirectory() as folder:
        model.config.save_pretrained(folder)
        extractor.save_pretrained(folder)
        options = json.loads((Path(folder) / "config.json").read_text())
        front_end = json.loads((Path(folder) / "preprocessor_config.json").read_text())
    options["architectures"] = ["WhisperForConditionalGeneration"]
    options["generation_config"] = case["generation"]
    if "generate" in case:
        options["generate"] = case["generate"]
    if case.get("texts_only"):
        return texts_of(case, outputs)
    path = Path(out) / f"hf_whisper_generate_{name}.safetensors"
    size = rf.write_small(path, "scorer", "whisper", options, tensors, 1e-4, 1e-4,
                          {"preprocessor": json.dumps(front_end)})
    rf.report(path, size, noise=ratios[worst], at=worst)
    return texts_of(case, outputs)


def texts_of(case, outputs) -> list:
    tokenizer = tokenizer_of(case["kind"])
    begin = case["generation"]["no_timestamps_token_id"]
    rows = zip(outputs["ids"].tolist(), outputs["id_lengths"].tolist())
    return [tokenizer.decode([i for i in row[:n] if i <= begin]) for row, n in rows]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", default=str(Path(__file__).parent / "data"))
    parser.add_argument("--case", choices=list(CASES))
    args = parser.parse_args()
    with torch.no_grad():
        texts = {name: write_case(args.out, name)
                 for name in ([args.case] if args.case else CASES)}
    if not args.case:
        del texts["english"]
        rf.write_json(Path(args.out) / "whisper_texts.json",
                      {"tokenizer": json.loads(tokenizer_of("many").to_str()), "texts": texts})


if __name__ == "__main__":
    main()
