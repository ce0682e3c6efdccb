"""More cases of nemo_duplex.py: the connectors between encoder and language model.

NeMo's own modules, but for two:

* FrameStackingConnector: NeMo has none. The MLP is transformers' VoxtralMultiModalProjector, which
  Voxtral applies to stacked frames. Frames beyond a row's length count as zero.
* perception.rote: NeMo 3.0.0 has no such module. The environment variable NEMO_ROTE names the file
  nemo/collections/speechlm2/modules/rote.py of a later NeMo (made with commit 358a2a9e8ea3); the
  perception of that version rotates the encoder's output at the middle of each frame.

NeMo's Q-Former has BERT's inner width 3072 and dropout 0.1. The keys `intermediate_size` and
`dropout` are this script's, and set others.
"""

import importlib.util
import os

import torch

from nemo_duplex_cases import STREAMING, WIDTH, case, encoder, options, preprocessor

TARGET = "nemo.collections.speechlm2.modules.perception."
ROTE_TARGET = "nemo.collections.speechlm2.modules.rote.RotaryTimeEmbedding"


class FrameStackingConnector(torch.nn.Module):
    def __init__(self, input_dim, output_dim, stack_factor, hidden_act):
        from transformers import VoxtralConfig
        from transformers.models.voxtral.modeling_voxtral import VoxtralMultiModalProjector

        super().__init__()
        self.factor = stack_factor
        config = VoxtralConfig(projector_hidden_act=hidden_act)
        config.audio_config.intermediate_size = input_dim * stack_factor
        config.text_config.hidden_size = output_dim
        projector = VoxtralMultiModalProjector(config)
        self.linear_1, self.act, self.linear_2 = (
            projector.linear_1, projector.act, projector.linear_2,
        )

    def forward(self, audio_signal, length):
        valid = torch.arange(audio_signal.shape[2]) < length.unsqueeze(1)
        x = (audio_signal * valid.unsqueeze(1)).transpose(1, 2)
        x = torch.nn.functional.pad(x, (0, 0, 0, -x.shape[1] % self.factor))
        x = x.reshape(x.shape[0], -1, x.shape[2] * self.factor)
        x = self.linear_2(self.act(self.linear_1(x)))
        return x.transpose(1, 2), (length + self.factor - 1) // self.factor


def without_ours(perception: dict) -> dict:
    """The block that NeMo 3.0.0 can build; FrameStackingConnector becomes an identity."""
    from nemo.collections.speechlm2.modules import perception as source
    from transformers import BertConfig

    perception = {k: v for k, v in perception.items() if k != "rote"}
    adapter = dict(perception["modality_adapter"])
    if adapter["_target_"].endswith("QformerConnector"):
        size, dropout = adapter.pop("intermediate_size"), adapter.pop("dropout")
        source.BertConfig = lambda: BertConfig(
            intermediate_size=size,
            hidden_dropout_prob=dropout,
            attention_probs_dropout_prob=dropout,
        )
    if adapter["_target_"].endswith("FrameStackingConnector"):
        adapter = {"_target_": TARGET + "IdentityConnector", "output_dim": WIDTH}
    return {**perception, "modality_adapter": adapter}


def add_ours(module, perception: dict) -> None:
    """Gives a built AudioPerceptionModule what without_ours took away."""
    adapter = dict(perception["modality_adapter"])
    if adapter.pop("_target_").endswith("FrameStackingConnector"):
        module.modality_adapter = FrameStackingConnector(**adapter)
    if "rote" not in perception:
        return
    spec = importlib.util.spec_from_file_location("rote", os.environ["NEMO_ROTE"])
    rote = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(rote)
    given = {k: v for k, v in perception["rote"].items() if k != "_target_"}
    embedding = rote.RotaryTimeEmbedding(**given)
    window_s = perception["preprocessor"]["window_stride"]
    frame_s = window_s * perception["encoder"]["subsampling_factor"]

    def rotate(x):
        times = (torch.arange(x.shape[2], dtype=torch.float32) + 0.5) * frame_s
        return embedding(x.transpose(1, 2), times.expand(x.shape[0], -1)).transpose(1, 2)

    def hook(module, args, result):
        frames, lengths = result[0], result[1]
        return [rotate(x) for x in frames] if isinstance(frames, list) else rotate(frames), lengths

    taps = getattr(module, "encoder_multilayer", None)
    (module.encoder if taps is None else taps).register_forward_hook(hook)


def streaming_encoder(**changes):
    return encoder(**{**STREAMING, **changes})


SMALL = {"pre": preprocessor(normalize="NA"), "codec": {"num_codebooks": 1, "codebook_size": 24}}

# No d_model: the encoder's frames go to the language model as they are.
case(
    "connector_identity_no_projection",
    options(
        enc=streaming_encoder(d_model=WIDTH, subsampling_conv_channels=4),
        adapter={"_target_": TARGET + "IdentityConnector"},
        **SMALL,
    ),
    seed=51,
)

# Two inner layers, given out of order and from the end, then the encoder's output; its projection
# applies to the inner layers too.
case(
    "connector_multi_layer",
    options(
        enc=streaming_encoder(n_layers=3, feat_out=12, subsampling_conv_channels=4),
        adapter={
            "_target_": TARGET + "MultiLayerProjectionConnector",
            "target_layer_ids": [-2, 0],
            "input_dim": 12,
            "output_dim": WIDTH,
        },
        **SMALL,
    ),
    seed=52,
)

# Inner layers only: the last layer is computed for nothing and stays as it is. Rotary time
# embedding of each output, times normalized.
inner_layers = options(
    enc=streaming_encoder(n_layers=3, subsampling_conv_channels=4),
    adapter={
        "_target_": TARGET + "MultiLayerProjectionConnector",
        "target_layer_ids": [0, 1],
        "input_dim": 16,
        "output_dim": WIDTH,
        "include_final_output": False,
    },
    **SMALL,
)
inner_layers["model"]["perception"]["rote"] = {
    "_target_": ROTE_TARGET, "dim": 16, "rotary_fraction": 0.7, "max_time": 2.0, "theta": 9.0,
}
case("connector_inner_layers_rote", inner_layers, seed=53)

# Two layers of a Q-Former over two outputs of the encoder. Its 20 prompts are more than the frames
# of the codes, so that NeMo's lengths (the width of the language model, a slip) are cut to those.
# Full context, rows of different length: padded frames are attended to.
case(
    "connector_qformer",
    options(
        enc=encoder(
            n_layers=2, d_model=8, n_heads=2, conv_norm_type="layer_norm",
            subsampling_conv_channels=4,
        ),
        adapter={
            "_target_": TARGET + "QformerConnector",
            "prompt_size": 20,
            "target_layer_ids": [0],
            "qformer_num_hidden_layers": 2,
            "encoder_config": {"d_model": 8, "encoder_attention_heads": 2},
            "llm_config": {"hidden_size": WIDTH},
            "include_final_output": True,
            "intermediate_size": 20,
            "dropout": 0.0,
        },
        codec=SMALL["codec"],
    ),
    seed=54,
)

# Pairs of frames of 40 ms. The encoder gives 29 frames and 15 stacks, the second row's last pair is
# half valid. Rotary time embedding in seconds, all channels.
stacked = options(
    enc=streaming_encoder(subsampling_factor=4, subsampling_conv_channels=4),
    adapter={
        "_target_": "nemo_connectors.FrameStackingConnector",
        "input_dim": 16,
        "output_dim": WIDTH,
        "stack_factor": 2,
        "hidden_act": "gelu",
    },
    **SMALL,
)
stacked["model"]["perception"]["rote"] = {
    "_target_": ROTE_TARGET, "dim": 16, "theta": 30.0, "rotary_fraction": 1.0,
}
case("connector_frame_stacking", stacked, lengths=(17920, 14200), seed=255)
