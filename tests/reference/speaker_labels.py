"""Golden vectors of NeMo's EncDecSpeakerLabelModel (nemo_toolkit 3.0.0, CPU, float32, eval mode).

    python tests/reference/speaker_labels.py --out tests/reference/data

speaker_label_NAME.safetensors is a file of kind metric: `options` is the model_config.yaml as JSON,
random weights without the buffers of the front end, input/audio [2,S] at 16 kHz, and
output/embeddings [2,D] of each row alone, as `infer_segment` gives them.
"""

import argparse
import json
from pathlib import Path

import torch
from nemo.collections.asr.models import EncDecSpeakerLabelModel
from omegaconf import OmegaConf

import reference_file as rf

MODULES = "nemo.collections.asr.modules."


def block(filters, kernel, **more) -> dict:
    return {"filters": filters, "repeat": 1, "kernel": [kernel], "stride": [1], "dilation": [1],
            "dropout": 0.1, "residual": False, "separable": True, **more}


def config(jasper: list[dict], decoder: dict) -> dict:
    return {
        "target": "nemo.collections.asr.models.label_models.EncDecSpeakerLabelModel",
        "sample_rate": 16000,
        "preprocessor": {"_target_": MODULES + "AudioToMelSpectrogramPreprocessor",
                         "normalize": "per_feature", "window_size": 0.025, "window_stride": 0.01,
                         "window": "hann", "features": 16, "n_fft": 512, "frame_splicing": 1,
                         "sample_rate": 16000, "dither": 1e-5},
        "encoder": {"_target_": MODULES + "ConvASREncoder", "feat_in": 16, "activation": "relu",
                    "conv_mask": True, "jasper": jasper},
        "decoder": {"_target_": MODULES + "SpeakerDecoder", "feat_in": jasper[-1]["filters"],
                    "num_classes": 5, **decoder}}


SQUEEZE = {"se": True, "se_context_size": -1}
CASES = {
    "titanet": (81, config(
        [block(16, 3, **SQUEEZE), block(16, 7, repeat=3, residual=True, **SQUEEZE),
         block(16, 11, repeat=2, residual=True, dilation=[2], **SQUEEZE), block(24, 1, **SQUEEZE)],
        {"pool_mode": "attention", "emb_sizes": 12, "angular": True, "attention_channels": 8})),
    "speakernet": (82, config(
        [block(16, 3, separable=False), block(16, 5, stride=[2]),
         block(16, 5, repeat=2, residual=True), block(20, 1)],
        {"pool_mode": "xvector", "emb_sizes": [10, 8]})),
    "tap": (83, config([block(8, 3, se=True, se_reduction_ratio=4)],
                       {"pool_mode": "tap", "emb_sizes": [6]})),
}


def draw(model, seed: int) -> None:
    for i, (name, tensor) in enumerate(sorted(model.state_dict().items())):
        key = 1000 * seed + i
        if name.startswith("preprocessor") or not tensor.is_floating_point():
            continue
        if name.endswith("running_var") or (tensor.dim() == 1 and name.endswith("weight")):
            rf.draw(tensor, key, 1.0, 0.3)
        elif tensor.dim() == 1:
            rf.draw(tensor, key, 0.0, 0.2)
        else:
            rf.draw(tensor, key, 0.0, (2 / tensor[0].numel()) ** 0.5)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", required=True)
    out = Path(parser.parse_args().out)
    torch.manual_seed(0)
    for name, (seed, options) in CASES.items():
        model = EncDecSpeakerLabelModel(cfg=OmegaConf.create(options)).eval()
        draw(model, seed)
        audio = rf.draw(torch.empty(2, 6000), seed, 0.0, 0.2)
        found = torch.cat([model.infer_segment(row.numpy())[0].cpu() for row in audio])
        tensors = {f"weights/{k}": v for k, v in model.state_dict().items()
                   if not k.startswith("preprocessor")}
        tensors |= {"input/audio": audio, "output/embeddings": found}
        path = out / f"speaker_label_{name}.safetensors"
        size = rf.write_small(path, "metric", "speaker_similarity", json.dumps(options), tensors)
        print(path, size, found, torch.cosine_similarity(found[0], found[1], dim=0).item())


if __name__ == "__main__":
    main()
