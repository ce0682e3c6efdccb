"""Builds NVIDIA NeMo's SALM from the `options` object of a reference file."""

import json
import tempfile
from pathlib import Path

from nemo_model import write_tokenizer


def build_salm(options: dict):
    """options as in a reference file -> SALM in train mode, float32."""
    from nemo.collections.speechlm2.models import SALM

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "config.json").write_text(json.dumps(options["llm_config"]))
        write_tokenizer(folder, options["llm_config"]["vocab_size"], options["tokens"])
        block = json.loads(json.dumps(options["model"]))
        block["pretrained_llm"] = str(folder)
        model = SALM(block)
    tokens = options["tokens"]
    found = (model.text_bos_id, model.text_eos_id, model.text_pad_id, model.audio_locator_tag_id)
    wanted = tuple(tokens[k] for k in ("bos", "eos", "pad", "audio_locator_tag"))
    assert found == wanted, f"special ids {found}, wanted {wanted}"
    return model
