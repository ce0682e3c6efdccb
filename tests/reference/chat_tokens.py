"""usage: chat_tokens.py DATA_FOLDER

Chats and prompts with responses as tokens and labels, by transformers 5. Writes
DATA_FOLDER/chat_tokens.json: tokenizers (the small ones of hf_tokenizers.py with the special tokens
of their families), chat templates, lines of data, and for each line ids, labels and lengths.

Labels of templates with generation blocks are transformers' return_assistant_tokens_mask. Without
them: the tokens of each assistant's content as the template writes it, and up to the next special
token, by the offsets of the tokenizers package. tests/core/text compares ours.
"""

import json
import sys
import tempfile
from pathlib import Path

from transformers import PreTrainedTokenizerFast

import chat_templates as families

LLAMA_3_GENERATION = (
    "{{ bos_token }}{% for message in messages %}"
    "{{ '<|start_header_id|>' + message['role'] + '<|end_header_id|>\n\n' }}"
    "{% if message['role'] == 'assistant' %}{% generation %}"
    "{{ message['content'] | trim + '<|eot_id|>' }}{% endgeneration %}"
    "{% else %}{{ message['content'] | trim + '<|eot_id|>' }}{% endif %}{% endfor %}")

CASES = {
    "llama3": dict(base="llama3", bos="<|begin_of_text|>", eos="<|end_of_text|>",
                   pad="<|finetune_right_pad_id|>",
                   add=["<|start_header_id|>", "<|end_header_id|>"],
                   template=families.LLAMA_3),
    "llama3_generation": dict(base="llama3", bos="<|begin_of_text|>", eos="<|eot_id|>",
                              pad="<|finetune_right_pad_id|>",
                              add=["<|start_header_id|>", "<|end_header_id|>"],
                              template=LLAMA_3_GENERATION),
    "qwen3": dict(base="qwen2", bos="<|endoftext|>", eos="<|im_end|>", pad="<|pad|>",
                  add=["<|pad|>"], template=families.QWEN_3),
    "chatml_generation": dict(base="qwen2", bos="<|endoftext|>", eos="<|im_end|>", pad="<|pad|>",
                              add=["<|pad|>"], template=families.CHATML_GENERATION),
    "gemma": dict(base="gemma", bos="<bos>", eos="<eos>", pad="<pad>",
                  add=["<start_of_turn>", "<end_of_turn>"], template=families.GEMMA_2),
    "tinyllama": dict(base="tinyllama", bos="<s>", eos="</s>", pad="<unk>", add=[],
                      template=families.TINYLLAMA),
    "llama2": dict(base="tinyllama", bos="<s>", eos="</s>", pad="<unk>", add=[],
                   template=families.LLAMA_2),
}

WORDS = ["the weather is fine", "2 + 2 = 4", "  spaces  inside ",
         "na\u00efve caf\u00e9 \u00e9t\u00e9", "\u4f60\u597d\u4e16\u754c",
         "emoji \U0001f600\U0001f680!", "line one\nline two\n\n  indented",
         "tabs\tand\r\nreturns", "a", "(x) -> y; // end", "I'll say: \"it's\" 100%", "\u0937\u094d"]
CHATS = [
    [("user", WORDS[0]), ("assistant", WORDS[1])],
    [("user", WORDS[2]), ("assistant", WORDS[3]), ("user", WORDS[4]), ("assistant", WORDS[5])],
    [("user", WORDS[6]), ("assistant", WORDS[7]), ("user", "a"), ("assistant", "a"),
     ("user", WORDS[8]), ("assistant", WORDS[10])],
    [("user", "assistant"), ("assistant", "user"), ("user", "user"), ("assistant", "assistant")],
    [("user", WORDS[9]), ("assistant", WORDS[11])],
    [("user", "only a question")],
    [("user", "cafe\u0301 e\u0301"), ("assistant", "e\u0301te\u0301, \u212b \u1e9b\u0323 end")],
]
PAIRS = [("Q: 2 + 2?\nA:", " 4"), ("no space", "between"), ("", "only a response"),
         ("caf\u00e9 ", "\u00e9t\u00e9 \U0001f600"), ("trailing \n\n", "\n leading")]


def make_tokenizer(data, case, folder):
    definition = json.loads((data / f"hf_tokenizer_{case['base']}.json").read_text())
    definition["post_processor"] = None
    path = Path(folder) / "tokenizer.json"
    path.write_text(json.dumps(definition))
    tokenizer = PreTrainedTokenizerFast(tokenizer_file=str(path), bos_token=case["bos"],
                                        eos_token=case["eos"], pad_token=case["pad"])
    tokenizer.add_special_tokens({"additional_special_tokens": case["add"]})
    tokenizer.chat_template = case["template"]
    return tokenizer


def framed(tokenizer, ids, labels):
    """One BOS, one EOS (which white space may follow)."""
    last = len(ids)
    while last and ids[last - 1] != tokenizer.eos_token_id and tokenizer.decode(
            ids[last - 1:last]).strip() == "" and tokenizer.decode(ids[last - 1:last]):
        last -= 1
    has_eos = last > 0 and ids[last - 1] == tokenizer.eos_token_id
    if ids[:1] != [tokenizer.bos_token_id]:
        ids, labels = [tokenizer.bos_token_id] + ids, [0] + labels
    if not has_eos:
        ids, labels = ids + [tokenizer.eos_token_id], labels + [0]
    return ids, labels


def contents_in(tokenizer, text, messages):
    """Where the template writes the content of each message: it writes placeholders first."""
    marks = [{**m, "content": f"\ue000{i}\ue001"} for i, m in enumerate(messages)]
    rest = tokenizer.apply_chat_template(marks, tokenize=False)
    for is_stripped in (False, True):
        whole, places, skeleton = "", [], rest
        for mark, message in zip(marks, messages):
            content = message["content"].strip() if is_stripped else message["content"]
            before, skeleton = skeleton.split(mark["content"])
            whole += before
            places.append((len(whole), len(whole) + len(content)))
            whole += content
        if whole + skeleton == text:
            return places
    raise ValueError("the template changes contents")


def chat_labels(tokenizer, text, encoded, messages):
    """Without generation blocks."""
    labels = [0] * len(encoded["input_ids"])
    special = {i for i, token in tokenizer.added_tokens_decoder.items() if token.special}
    for message, (begin, at) in zip(messages, contents_in(tokenizer, text, messages)):
        if message["role"] != "assistant":
            continue
        behind = None
        for i, (first, last) in enumerate(encoded["offset_mapping"]):
            if first < at and last > begin:
                labels[i] = 1
            if behind is None and first >= at:
                behind = i
        end = behind
        while end is not None and end < len(labels) and encoded["input_ids"][end] not in special \
                and text[slice(*encoded["offset_mapping"][end])].strip() == "":
            end += 1
        if end is not None and end < len(labels) and encoded["input_ids"][end] in special:
            labels[behind:end + 1] = [1] * (end + 1 - behind)
    return labels


def chat_row(tokenizer, chat, has_blocks):
    messages = [{"role": role, "content": content} for role, content in chat]
    text = tokenizer.apply_chat_template(messages, tokenize=False)
    whole = tokenizer.apply_chat_template(messages, tokenize=True, return_dict=True,
                                          return_assistant_tokens_mask=has_blocks)
    encoded = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)
    assert whole["input_ids"] == encoded["input_ids"]
    ids = list(whole["input_ids"])
    labels = list(whole["assistant_masks"]) if has_blocks else chat_labels(
        tokenizer, text, encoded, messages)
    ids, labels = framed(tokenizer, ids, labels)
    return {"line": {"messages": messages}, "ids": ids, "labels": labels}


def pair_row(tokenizer, prompt, response):
    encoded = tokenizer(prompt + response, add_special_tokens=False, return_offsets_mapping=True)
    ids = list(encoded["input_ids"])
    labels = [int(last > len(prompt)) for _, last in encoded["offset_mapping"]]
    ids = [tokenizer.bos_token_id] + ids + [tokenizer.eos_token_id]
    return {"line": {"prompt": prompt, "response": response}, "ids": ids,
            "labels": [0] + labels + [1]}


def main():
    data = Path(sys.argv[1])
    found = []
    for name, case in CASES.items():
        with tempfile.TemporaryDirectory() as folder:
            tokenizer = make_tokenizer(data, case, folder)
            has_blocks = "{% generation %}" in case["template"] or "{%- generation %}" in case[
                "template"]
            rows = [chat_row(tokenizer, chat, has_blocks) for chat in CHATS]
            rows += [pair_row(tokenizer, *pair) for pair in PAIRS]
            added = [{"id": tokenizer.convert_tokens_to_ids(token), "content": token,
                      "single_word": False, "lstrip": False, "rstrip": False,
                      "normalized": False, "special": True} for token in case["add"]]
        labels = sum(sum(row["labels"]) for row in rows)
        assert labels > 40, (name, labels)
        found.append({"name": name, "base": case["base"], "added": added, "rows": rows,
                      "bos": case["bos"], "eos": case["eos"], "pad": case["pad"],
                      "chat_template": case["template"]})
        print(f"{name}: {len(rows)} lines, {labels} labels")
    with open(data / "chat_tokens.json", "w") as out:
        json.dump(found, out, ensure_ascii=True)
        out.write("\n")


if __name__ == "__main__":
    main()
