"""Builds NVIDIA NeMo's SALM from the `options` object of a reference file."""

import json
import tempfile
from pathlib import Path

from nemo_model import write_tokenizer


def write_asr(path: Path, perception: dict, decoder: dict) -> None:
    """A NeMo transducer of the encoder that `perception` describes."""
    from nemo.collections.asr.models import EncDecRNNTModel
    from omegaconf import OmegaConf

    modules = "nemo.collections.asr.modules"
    net = {"pred_hidden": decoder["pred_hidden"], "pred_rnn_layers": decoder["pred_rnn_layers"]}
    joint = {"joint_hidden": decoder["joint_hidden"], "activation": "relu", "dropout": 0.0}
    config = {
        "preprocessor": perception["preprocessor"],
        "encoder": perception["encoder"],
        "labels": decoder["vocabulary"],
        "model_defaults": {
            "enc_hidden": perception["encoder"]["d_model"],
            "pred_hidden": decoder["pred_hidden"],
            "joint_hidden": decoder["joint_hidden"],
        },
        "decoder": {
            "_target_": f"{modules}.RNNTDecoder",
            "normalization_mode": None,
            "random_state_sampling": False,
            "blank_as_pad": True,
            "prednet": {**net, "dropout": 0.0},
        },
        "joint": {
            "_target_": f"{modules}.RNNTJoint",
            "log_softmax": None,
            "preserve_memory": False,
            "fuse_loss_wer": False,
            "jointnet": joint,
        },
        "decoding": {"strategy": "greedy_batch", "greedy": {"max_symbols": decoder["max_symbols"]}},
        "loss": {"loss_name": "default"},
    }
    if durations := decoder.get("durations"):
        config["joint"]["num_extra_outputs"] = len(durations)
        config["decoding"].update(model_type="tdt", durations=durations)
        config["loss"] = {"loss_name": "tdt", "tdt_kwargs": {"durations": durations}}
    EncDecRNNTModel(OmegaConf.create(config)).save_to(str(path))


def build_salm(options: dict):
    """options as in a reference file -> SALM in train mode, float32; with model.asr_decoder
    SALMWithAsrDecoder."""
    from nemo.collections.speechlm2.models import SALM, SALMWithAsrDecoder

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "config.json").write_text(json.dumps(options["llm_config"]))
        write_tokenizer(folder, options["llm_config"]["vocab_size"], options["tokens"])
        block = json.loads(json.dumps(options["model"]))
        block["pretrained_llm"] = str(folder)
        decoder = block.pop("asr_decoder", None)
        if decoder is None:
            model = SALM(block)
        else:
            block["pretrained_asr"] = str(folder / "asr.nemo")
            write_asr(folder / "asr.nemo", block["perception"], decoder)
            model = SALMWithAsrDecoder(block)
    tokens = options["tokens"]
    found = (model.text_bos_id, model.text_eos_id, model.text_pad_id, model.audio_locator_tag_id)
    wanted = tuple(tokens[k] for k in ("bos", "eos", "pad", "audio_locator_tag"))
    assert found == wanted, f"special ids {found}, wanted {wanted}"
    return model
