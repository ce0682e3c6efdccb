"""Reference files of NeMo's FastConformer and of transformers' Parakeet and streaming Nemotron
(CPU, float32, eval mode).

    python tests/reference/nemo_fastconformer.py --out tests/reference/data [--case NAME] [--list]

kind=encoder, name=fastconformer. Two kinds of options, two kinds of weight names:

  NeMo      options = {"preprocessor": {...}, "encoder": {...}} as in an ASR model_config.yaml;
            weights preprocessor.featurizer.{window,fb} and encoder.*. Where att_context_size is a
            list of pairs, eval mode uses the first one.
  Parakeet  options = the text of a ParakeetEncoderConfig's config.json; weights as in a file of
            ParakeetForCTC, that is encoder.subsampling.*, encoder.layers.*. Its mel front end is
            ParakeetFeatureExtractor with its defaults, transposed to [B,F,columns].

  Nemotron  options = the text of a NemotronAsrStreamingEncoderConfig's config.json; the rest as for
            Parakeet.

output/mel [B,F,columns] of some cases, output/features [B,T,H] (full width), output/lengths [B].
features_L_R: of another attention context. stream_L_R, whole_L_R [1,T,H]: the first row alone, by
cache_aware_stream_step (Nemotron: with its caches, whole chunks) and in one pass.
Rows of nemo_fastconformer_local_global are run one by one.
stepN_last_channel, stepN_last_time, stepN_last_channel_len: NeMo's caches after step N of that
stream, with the first context; stepN_last_channel_L_R etc. with another one. Frames beyond a row's
length are NeMo's own values and not to be compared (zero in the Parakeet file).
Nothing is trained here, so dropouts do not matter; the NeMo options have them at 0.
"""

import copy
from pathlib import Path

import torch

import reference_file as rf
from nemo_duplex_cases import STREAMING, encoder, preprocessor

RTOL, ATOL = 1e-4, 5e-5
LENGTHS = (11200, 7333)
PARAKEET = {
    "architectures": ["ParakeetEncoder"],
    "activation_dropout": 0.0,
    "attention_bias": True,
    "attention_dropout": 0.0,
    "conv_kernel_size": 9,
    "convolution_bias": True,
    "dropout": 0.0,
    "dropout_positions": 0.0,
    "dtype": "float32",
    "hidden_act": "silu",
    "hidden_size": 16,
    "initializer_range": 0.02,
    "intermediate_size": 32,
    "layerdrop": 0.0,
    "max_position_embeddings": 256,
    "model_type": "parakeet_encoder",
    "num_attention_heads": 4,
    "num_hidden_layers": 2,
    "num_mel_bins": 40,
    "scale_input": True,
    "subsampling_conv_channels": 12,
    "subsampling_conv_kernel_size": 3,
    "subsampling_conv_stride": 2,
    "subsampling_factor": 8,
}


# vggnet: NeMo's lengths round down and its layers up; these are even after each halving.
LENGTHS_OF = {
    "nemo_fastconformer_vggnet": (10240, 7040),
    "nemo_fastconformer_steps": (8960, 5333),
    "nemo_fastconformer_local": (16000, 9333),
    "nemo_fastconformer_local_global": (16000, 9333),
    "nemo_fastconformer_abs": (6400, 4333),
}
# Cases with a mel, whose audio is a seed, too.
OF_NOISE = ("nemo_fastconformer_look_aheads", "hf_parakeet")
# Cases without a mel, whose audio is a seed. The contexts are further outputs, features_L_R.
CONTEXTS = {
    "nemo_fastconformer_striding": [],
    "nemo_fastconformer_striding_causal": [[8, 3], [8, 0]],
    "nemo_fastconformer_stacking": [],
    "nemo_fastconformer_stacking_norm": [],
    "nemo_fastconformer_vggnet": [],
    "nemo_fastconformer_steps": [],
    "hf_nemotron_streaming": [[4, 3], [4, 0]],
    "nemo_fastconformer_local": [],
    "nemo_fastconformer_local_global": [],
    "nemo_fastconformer_abs": [],
}
# NeMo's product of several global frames mixes the rows of a batch, so rows run one by one, each
# with the width of the batch.
ONE_BY_ONE = ("nemo_fastconformer_local_global",)
# The contexts of streams of the first row, stream_L_R; whole_L_R is one pass over that row.
STREAMS = {
    "nemo_fastconformer_striding_causal": [[4, 1]],
    "nemo_fastconformer_steps": [[4, 1], [8, 3]],
}
# Of these streams the caches of each step in place of whole_L_R.
STEPS = ("nemo_fastconformer_steps",)
CACHES = ("last_channel", "last_time", "last_channel_len")


NEMOTRON = {
    **PARAKEET,
    "architectures": ["NemotronAsrStreamingEncoder"],
    "model_type": "nemotron_asr_streaming_encoder",
    "num_attention_heads": 2,
    "sliding_window": 5,
    "default_num_lookahead_tokens": 1,
}


class NemoPair(torch.nn.Module):
    """preprocessor and encoder of an ASR model; audio -> mel, features, lengths."""

    def __init__(self, options):
        from nemo.core.classes.common import Serialization
        from omegaconf import DictConfig

        super().__init__()
        build = Serialization.from_config_dict
        self.preprocessor = build(DictConfig(options["preprocessor"]))
        self.encoder = build(DictConfig(options["encoder"]))
        for module in self.encoder.modules():
            if isinstance(module, torch.nn.MaxPool2d):
                # NeMo 3.0.0 reads pairs of sizes here, and without them raises a TypeError.
                module.kernel_size, module.stride, module.padding = (2, 2), (2, 2), (0, 0)

    def forward(self, audio, lengths):
        mel, mel_lengths = self.preprocessor(input_signal=audio, length=lengths)
        features, feature_lengths = self.encoder(audio_signal=mel, length=mel_lengths)
        return mel, features.transpose(1, 2), feature_lengths


class Parakeet(torch.nn.Module):
    def __init__(self, options):
        from transformers import ParakeetEncoderConfig, ParakeetFeatureExtractor
        from transformers.models.parakeet import ParakeetEncoder

        super().__init__()
        config = ParakeetEncoderConfig(**options)
        self.encoder = ParakeetEncoder._from_config(config, attn_implementation="eager")
        self.extract = ParakeetFeatureExtractor(feature_size=config.num_mel_bins)

    def forward(self, audio, lengths):
        rows = [row[:n].numpy() for row, n in zip(audio, lengths.tolist())]
        mel = self.extract(rows, sampling_rate=16000, return_tensors="pt")
        result = self.encoder(mel["input_features"], attention_mask=mel["attention_mask"])
        valid = result.attention_mask.bool()
        features = result.last_hidden_state.masked_fill(~valid[..., None], 0.0)
        return mel["input_features"].transpose(1, 2), features, valid.sum(1)


class Nemotron(torch.nn.Module):
    """With transformers' default attention: its cache gives NaN with the eager one."""

    def __init__(self, options):
        from transformers import NemotronAsrStreamingEncoder, NemotronAsrStreamingEncoderConfig
        from transformers import NemotronAsrStreamingFeatureExtractor

        super().__init__()
        config = NemotronAsrStreamingEncoderConfig(**options)
        self.encoder = NemotronAsrStreamingEncoder._from_config(config, attn_implementation="sdpa")
        self.extract = NemotronAsrStreamingFeatureExtractor(feature_size=config.num_mel_bins)
        self.look_ahead = config.default_num_lookahead_tokens

    def mel(self, audio, lengths):
        rows = [row[:n].numpy() for row, n in zip(audio, lengths.tolist())]
        return self.extract(rows, sampling_rate=16000, return_tensors="pt")

    def forward(self, audio, lengths):
        mel = self.mel(audio, lengths)
        result = self.encoder(
            mel["input_features"],
            attention_mask=mel["attention_mask"],
            num_lookahead_tokens=self.look_ahead,
        )
        valid = result.attention_mask.bool()
        features = result.last_hidden_state.masked_fill(~valid[..., None], 0.0)
        return mel["input_features"].transpose(1, 2), features, valid.sum(1)

    def stream(self, audio, lengths):
        """The whole chunks of the first row."""
        mel = self.mel(audio[:1], lengths[:1])["input_features"]
        frames, outputs, begin = int(lengths[0]) // 160, [], 0
        attention, convolutions = None, None
        size = 1 + 8 * self.look_ahead
        while begin + size <= frames:
            result = self.encoder(
                mel[:, begin : begin + size],
                past_key_values=attention,
                padding_cache=convolutions,
                use_cache=True,
                num_lookahead_tokens=self.look_ahead,
            )
            outputs.append(result.last_hidden_state)
            attention, convolutions = result.past_key_values, result.padding_cache
            begin, size = begin + size, 8 * (self.look_ahead + 1)
        return torch.cat(outputs, 1)


def nemo_options(pre=None, **enc):
    layers = encoder(**{"n_layers": 2, **enc})
    return {"preprocessor": preprocessor(**(pre or {})), "encoder": layers}


HALF = {"subsampling": "striding", "subsampling_factor": 2, "subsampling_conv_channels": 4}
CASES = {
    "nemo_fastconformer_full": (NemoPair, nemo_options({"pad_to": 16}), 31),
    "nemo_fastconformer_chunked_causal": (
        NemoPair,
        nemo_options({"normalize": "NA"}, **STREAMING),
        32,
    ),
    "nemo_fastconformer_look_aheads": (
        NemoPair,
        nemo_options({"normalize": "NA"}, **{**STREAMING, "att_context_size": [[8, 3], [8, 0]]}),
        33,
    ),
    "hf_parakeet": (Parakeet, PARAKEET, 34),
    "nemo_fastconformer_striding": (
        NemoPair,
        nemo_options(subsampling="striding", subsampling_factor=4),
        35,
    ),
    "nemo_fastconformer_striding_causal": (
        NemoPair,
        nemo_options(
            {"normalize": "NA"},
            **{**STREAMING, "subsampling": "striding", "att_context_size": [[6, 1], [8, 3]]},
        ),
        36,
    ),
    "nemo_fastconformer_steps": (
        NemoPair,
        nemo_options(
            {"normalize": "NA"},
            **{
                **STREAMING,
                "att_context_size": [[4, 1], [8, 3]],
                "att_context_probs": [0.75, 0.25],
            },
        ),
        41,
    ),
    "hf_nemotron_streaming": (Nemotron, NEMOTRON, 40),
    # The width is a multiple of the factor, so that NeMo counts whole stacks.
    "nemo_fastconformer_stacking": (
        NemoPair,
        nemo_options({"pad_to": 12}, subsampling="stacking", subsampling_factor=6),
        37,
    ),
    "nemo_fastconformer_stacking_norm": (
        NemoPair,
        nemo_options({"pad_to": 16}, subsampling="stacking_norm", subsampling_factor=4),
        38,
    ),
    "nemo_fastconformer_vggnet": (
        NemoPair,
        nemo_options(subsampling="vggnet", subsampling_factor=4),
        39,
    ),
    # Two frames of the mel are one, so that there are several windows.
    "nemo_fastconformer_local": (
        NemoPair,
        nemo_options(
            self_attention_model="rel_pos_local_attn", att_context_size=[6, 6], n_layers=1, **HALF
        ),
        42,
    ),
    # The sides differ: NeMo's sinusoids are then at other places than the distances.
    "nemo_fastconformer_local_global": (
        NemoPair,
        nemo_options(
            self_attention_model="rel_pos_local_attn",
            att_context_size=[6, 5],
            untie_biases=False,
            global_tokens=3,
            global_tokens_spacing=8,
            global_attn_separate=True,
            **HALF,
        ),
        43,
    ),
    "nemo_fastconformer_abs": (
        NemoPair,
        nemo_options(
            self_attention_model="abs_pos", att_context_size=[9, 4], n_layers=1, **HALF
        ),
        44,
    ),
}


def encoded(model, mel, num_samples):
    """The features of one row of a padded batch."""
    frames = model.preprocessor.featurizer.get_seq_len(num_samples)[None]
    return model.encoder(audio_signal=mel[None], length=frames)[0].transpose(1, 2)


def run(model, inputs, one_by_one=False) -> dict:
    with torch.no_grad():
        mel, features, lengths = model(inputs["audio"].clone(), inputs["lengths"].clone())
        if one_by_one:
            rows = zip(mel, inputs["lengths"])
            features = torch.cat([encoded(model, row, samples) for row, samples in rows])
    return {
        "output/mel": mel.clone(),
        "output/features": features.clone(),
        "output/lengths": lengths.to(torch.int64),
    }


def run_contexts(model, name, inputs) -> dict:
    tensors = {}
    if isinstance(model, Nemotron):
        tensors["output/stream_4_1"] = model.stream(inputs["audio"], inputs["lengths"]).detach()
    for context in CONTEXTS.get(name, []):
        if isinstance(model, Nemotron):
            model.look_ahead = context[1]
        else:
            model.encoder.set_default_att_context_size(context)
        result = run(model, inputs)["output/features"]
        tensors[f"output/features_{context[0]}_{context[1]}"] = result
    for context in STREAMS.get(name, []):
        first = STREAMS[name][0] if name in STEPS else None
        tensors.update(run_stream(model, context, inputs, first))
    return tensors


def run_stream(model, context, inputs, first=None) -> dict:
    """NeMo's cache-aware stream of the first row, and one pass over it. `first`: the context of the
    options, whose caches have no numbers in their names; None: no caches."""
    encoder, end = model.encoder, "_".join(str(n) for n in context)
    encoder.set_default_att_context_size(context)
    encoder.setup_streaming_params()
    one = {key: value[:1] for key, value in inputs.items()}
    whole = run(model, one)
    mel, frames = whole["output/mel"], int(one["lengths"][0]) // 160
    mel = mel[:, :, :frames]
    config, outputs, begin, step, kept = encoder.streaming_cfg, [], 0, 0, {}
    caches = encoder.get_initial_cache_state(batch_size=1)
    at = lambda sizes, i: sizes[min(i, 1)] if isinstance(sizes, list) else sizes  # noqa: E731
    while begin < frames:
        end_of_chunk = min(frames, begin + at(config.chunk_size, step))
        before = at(config.pre_encode_cache_size, step)
        piece = torch.nn.functional.pad(mel, (before, 0))[:, :, begin : end_of_chunk + before]
        with torch.no_grad():
            result = encoder.cache_aware_stream_step(
                processed_signal=piece,
                processed_signal_length=torch.tensor([piece.size(2)]),
                cache_last_channel=caches[0],
                cache_last_time=caches[1],
                cache_last_channel_len=caches[2],
                keep_all_outputs=end_of_chunk == frames,
                drop_extra_pre_encoded=config.drop_extra_pre_encoded if step else 0,
            )
        outputs.append(result[0].transpose(1, 2))
        caches = result[2:]
        for cache, value in zip(CACHES, caches):
            place = "" if context == first else f"_{end}"
            kept[f"output/step{step}_{cache}{place}"] = value.clone()
        begin, step = begin + at(config.shift_size, step), step + 1
    stream = torch.cat(outputs, 1)
    valid = int(whole["output/lengths"][0])
    same = whole["output/features"][:, :valid]
    assert stream.shape == same.shape and torch.allclose(stream, same, RTOL, ATOL), stream.shape
    kept = {f"output/whole_{end}": same.clone()} if first is None else kept
    return {f"output/stream_{end}": stream, **kept}


def make(name, out) -> None:
    kind, options, seed = CASES[name]
    lengths, is_small = LENGTHS_OF.get(name, LENGTHS), name in CONTEXTS
    audio = rf.noise_audio if is_small or name in OF_NOISE else rf.synthetic_audio
    torch.manual_seed(seed)
    model = kind(options).eval()
    rf.randomize(model, seed)
    inputs = {
        "audio": audio(len(lengths), lengths, seed + 2000),
        "lengths": torch.tensor(lengths),
    }
    twin = copy.deepcopy(model)
    rf.nudge(twin, seed)
    tensors = run(model, inputs, name in ONE_BY_ONE)
    nudged = run(twin, inputs, name in ONE_BY_ONE)
    noise = max(rf.noise_ratio(tensors, nudged, RTOL, ATOL).values())
    assert noise < 0.3, f"{name}: noise {noise}"
    if is_small:
        del tensors["output/mel"]
        tensors.update(run_contexts(model, name, inputs))
    tensors.update({f"weights/{k}": v for k, v in rf.weights_of(model).items()})
    tensors.update({f"input/{k}": v for k, v in inputs.items()})
    path = Path(out) / f"{name}.safetensors"
    size = rf.write_small(path, "encoder", "fastconformer", options, tensors, RTOL, ATOL)
    shape = tuple(tensors["output/features"].shape)
    rf.report(path, size, noise=noise, features=shape, lengths=tensors["output/lengths"].tolist())


if __name__ == "__main__":
    rf.run_cases(__doc__, CASES, make)
