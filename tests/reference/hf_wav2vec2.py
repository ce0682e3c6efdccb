"""Reference files of transformers' Wav2Vec2Model, HubertModel and WavLMModel with
Wav2Vec2FeatureExtractor (CPU, float32, eval mode).

    python tests/reference/hf_wav2vec2.py --out tests/reference/data [--case NAME]

kind=encoder, name=wav2vec2, hubert or wavlm; options = the text of config.json, preprocessor =
that of preprocessor_config.json. Random weights, fixed by seeds.

  weights/*             the state dict, under the names of files; case "hubert_base" has torch's
                        older names of a normed weight, and a prefix
  input/audio [B,S]     noise around 0.3; lengths [B]
  output/normalised     the extractor's values of each row alone, [B,S], zeros after it; of
                        wav2vec2, because files stay small
  output/conv_features  of the convolutions, [B,T,C]
  output/features       last_hidden_state [B,T,H]; lengths [B]
  output/layer_1        hidden_states[1]

The large form (layer norms) is given the mask of the padding, the base form is not.
"""

import argparse
import json
import tempfile
from pathlib import Path

import torch
from transformers import (HubertConfig, HubertModel, Wav2Vec2Config, Wav2Vec2FeatureExtractor,
                          Wav2Vec2Model, WavLMConfig, WavLMModel)

import reference_file as rf

CLASSES = {"wav2vec2": (Wav2Vec2Config, Wav2Vec2Model), "hubert": (HubertConfig, HubertModel),
           "wavlm": (WavLMConfig, WavLMModel)}
BASE = {
    "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 24,
    "conv_dim": [8, 6, 8], "conv_stride": [10, 4, 4], "conv_kernel": [20, 5, 4],
    "num_conv_pos_embeddings": 6, "num_conv_pos_embedding_groups": 2, "vocab_size": 10,
}
LARGE = {"feat_extract_norm": "layer", "do_stable_layer_norm": True, "conv_bias": True}
CASES = {
    "wav2vec2_base": ("wav2vec2", BASE, True, 41),
    "wav2vec2_large": ("wav2vec2", {**BASE, **LARGE, "num_conv_pos_embeddings": 5}, True, 42),
    "hubert_base": ("hubert", {**BASE, "feat_proj_layer_norm": False}, True, 43),
    "hubert_large": ("hubert", {**BASE, **LARGE, "hidden_act": "relu"}, True, 44),
    "wavlm_base": ("wavlm", {**BASE, "num_buckets": 16, "max_bucket_distance": 20}, False, 45),
    "wavlm_large": ("wavlm", {**BASE, **LARGE, "conv_bias": False, "num_buckets": 12,
                              "max_bucket_distance": 15}, True, 46),
}
LENGTHS = (3200, 1777)


def drawn_model(config_class, model_class, options, seed):
    model = model_class._from_config(config_class(**options), attn_implementation="eager").eval()
    for i, (name, tensor) in enumerate(sorted(model.state_dict().items())):
        key = 1000 * seed + i
        if "norm" in name and name.endswith("weight"):
            rf.draw(tensor, key, 1.0, 0.3)
        elif name.endswith("original0") or "gru_rel_pos_const" in name:
            rf.draw(tensor, key, 1.5, 0.5)
        elif name.endswith("bias") or "masked_spec" in name:
            rf.draw(tensor, key, 0.0, 0.2)
        elif "rel_attn_embed" in name or name == "layer_weights":
            rf.draw(tensor, key, 0.0, 1.0)
        else:
            rf.draw(tensor, key, 0.0, (1.5 / max(tensor[0].numel(), 1)) ** 0.5)
    return model


def names_of(model, kind, is_old):
    state = model.state_dict()
    if not is_old:
        return {f"weights/{name}": tensor for name, tensor in state.items()}
    spelling = {"parametrizations.weight.original0": "weight_g",
                "parametrizations.weight.original1": "weight_v"}
    tensors = {"weights/lm_head.weight": torch.zeros(2, 3)}
    for name, tensor in state.items():
        for new, old in spelling.items():
            name = name.replace(new, old)
        tensors[f"weights/{kind}.{name}"] = tensor
    return tensors


def write_case(out, name):
    kind, options, do_normalize, seed = CASES[name]
    has_mask = options.get("feat_extract_norm") == "layer"
    model = drawn_model(*CLASSES[kind], options, seed)
    extractor = Wav2Vec2FeatureExtractor(do_normalize=do_normalize,
                                         return_attention_mask=has_mask)
    audio = rf.draw(torch.empty(2, max(LENGTHS)), seed, 0.3, 0.2, LENGTHS)
    rows = [row[:length].numpy() for row, length in zip(audio, LENGTHS)]
    values = extractor(rows, sampling_rate=16000, padding=True, return_attention_mask=True,
                       return_tensors="pt")
    mask = values.attention_mask
    given = model(values.input_values, attention_mask=mask if has_mask else None,
                  output_hidden_states=True)
    conv = model.feature_extractor(values.input_values).transpose(1, 2)
    lengths = model._get_feat_extract_output_lengths(mask.sum(-1))
    tensors = names_of(model, kind, name == "hubert_base")
    tensors |= {
        "input/audio": audio, "input/lengths": torch.tensor(LENGTHS),
        "output/conv_features": conv,
        "output/features": given.last_hidden_state, "output/layer_1": given.hidden_states[1],
        "output/lengths": lengths,
    }
    if kind == "wav2vec2":
        tensors["output/normalised"] = values.input_values
    with tempfile.TemporaryDirectory() as folder:
        model.config.save_pretrained(folder)
        extractor.save_pretrained(folder)
        config = json.loads((Path(folder) / "config.json").read_text())
        front_end = json.loads((Path(folder) / "preprocessor_config.json").read_text())
    path = out / f"hf_{name}.safetensors"
    tensors = {key: value.contiguous() for key, value in tensors.items()}
    size = rf.write_small(path, "encoder", kind, json.dumps(config), tensors, 1e-4, 1e-4,
                          {"preprocessor": json.dumps(front_end)})
    print(f"{path}: {size} bytes, features {tuple(given.last_hidden_state.shape)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--case", choices=list(CASES))
    args = parser.parse_args()
    with torch.no_grad():
        for name in [args.case] if args.case else CASES:
            write_case(args.out, name)


if __name__ == "__main__":
    main()
