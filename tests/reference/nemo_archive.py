"""A .nemo archive of a tiny model, as NeMo 3.0 saves it, and its tensors as safetensors.

    python tests/reference/nemo_archive.py --out tests/reference/data

archive.nemo         EncDecCTCModel.save_to: a tar with model_config.yaml and model_weights.ckpt
archive.safetensors  its state dict
"""

import argparse
from pathlib import Path

import torch
from nemo.collections.asr.models import EncDecCTCModel
from omegaconf import OmegaConf
from safetensors.torch import save_file

LABELS = [" ", "a", "b", "c"]
MODULES = "nemo.collections.asr.modules."
CONFIG = {
    "sample_rate": 16000,
    "preprocessor": {
        "_target_": MODULES + "AudioToMelSpectrogramPreprocessor",
        "sample_rate": 16000,
        "features": 16,
        "n_fft": 512,
        "window_size": 0.025,
        "window_stride": 0.01,
        "normalize": "per_feature",
        "dither": 0.0,
    },
    "encoder": {
        "_target_": MODULES + "ConformerEncoder",
        "feat_in": 16,
        "n_layers": 1,
        "d_model": 16,
        "n_heads": 2,
        "subsampling": "dw_striding",
        "subsampling_factor": 8,
        "subsampling_conv_channels": 4,
        "ff_expansion_factor": 2,
        "conv_kernel_size": 5,
    },
    "decoder": {
        "_target_": MODULES + "ConvASRDecoder",
        "feat_in": 16,
        "num_classes": 4,
        "vocabulary": LABELS,
    },
    "labels": LABELS,
    "optim": {"name": "adamw", "lr": 1e-3},
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    out = parser.parse_args().out
    torch.manual_seed(0)
    model = EncDecCTCModel(cfg=OmegaConf.create(CONFIG))
    model.save_to(str(out / "archive.nemo"))
    state = {name: tensor.contiguous().clone() for name, tensor in model.state_dict().items()}
    save_file(state, out / "archive.safetensors")
    (out / "archive.safetensors").chmod(0o644)


if __name__ == "__main__":
    main()
