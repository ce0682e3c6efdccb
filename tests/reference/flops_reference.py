"""Counts floating-point operations with PyTorch's own counter, for the formulas of s2s.

usage: flops_reference.py encoder|llm

`encoder` needs NeMo: one forward of its ConformerEncoder. `llm` needs transformers: forward and
backward of a small Llama from embeddings that have gradients. The numbers are in
tests/core/nn/speech/conformer_flops_test.cc and tests/plugins/model_duplex_s2s_test.cc.
"""

import sys

import torch
from torch.utils.flop_counter import FlopCounterMode


def encoder():
    from nemo.collections.asr.modules import ConformerEncoder

    for name, options, rows, frames in [
        ("striding", {"subsampling": "dw_striding", "subsampling_factor": 8}, 2, 400),
        ("full striding", {"subsampling": "striding", "subsampling_factor": 4}, 2, 101),
        ("stacking", {"subsampling": "stacking", "subsampling_factor": 4}, 2, 100),
        ("linear", {"subsampling": "striding", "subsampling_factor": 1}, 3, 40),
    ]:
        model = ConformerEncoder(feat_in=80, n_layers=2, d_model=64, n_heads=4,
                                 subsampling_conv_channels=32, conv_kernel_size=9,
                                 **options).eval()
        with FlopCounterMode(display=False) as counter, torch.no_grad():
            model(audio_signal=torch.randn(rows, 80, frames), length=torch.full((rows,), frames))
        print(name, rows, frames, counter.get_total_flops(), counter.get_flop_counts()["Global"])


def llm():
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(vocab_size=200, hidden_size=32, intermediate_size=48, num_hidden_layers=2,
                         num_attention_heads=4, num_key_value_heads=2, head_dim=8,
                         tie_word_embeddings=False, attn_implementation="eager")
    model = LlamaForCausalLM(config)
    x = torch.randn(2, 13, 32, requires_grad=True)
    with FlopCounterMode(display=False) as counter:
        model(inputs_embeds=x).logits.sum().backward()
    print(counter.get_total_flops(), counter.get_flop_counts()["Global"])


{"encoder": encoder, "llm": llm}[sys.argv[1]]()
