# lint: exempt, templates as they are published
"""usage: chat_templates.py OUTPUT.json

Chat templates of the supported families and harsh ones, rendered by transformers 5: text, spans of
generation blocks, or the error. tests/core/jinja compares ours with it.

The templates of families are written as their publishers' tokenizer_config.json files have them
(Llama 2 and 3: Meta; TinyLlama; Gemma 2 and 3: Google; Qwen 2, 2.5 and 3: Alibaba; ChatML and the
form with generation blocks: transformers' documentation). The others try one feature each.
"""

import json
import re
import sys

from transformers.utils.chat_template_utils import (
    _alias_reasoning_fields, _compile_jinja_template, _render_with_assistant_indices)

import reference_file as rf

CHATML = (
    "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\\n' + message['content']"
    " + '<|im_end|>' + '\\n'}}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}")

CHATML_GENERATION = """{%- for message in messages %}
    {%- if message['role'] == 'assistant' %}
        {{- '<|im_start|>assistant\\n' }}
        {%- generation %}
        {{- message['content'] + '<|im_end|>' }}
        {%- endgeneration %}
        {{- '\\n' }}
    {%- else %}
        {{- '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>\\n' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
{%- endif %}
"""

LLAMA_2 = (
    "{% if messages[0]['role'] == 'system' %}{% set loop_messages = messages[1:] %}"
    "{% set system_message = messages[0]['content'] %}{% else %}"
    "{% set loop_messages = messages %}{% set system_message = false %}{% endif %}"
    "{% for message in loop_messages %}"
    "{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}"
    "{{ raise_exception('Conversation roles must alternate user/assistant/user/assistant/...') }}"
    "{% endif %}"
    "{% if loop.index0 == 0 and system_message != false %}"
    "{% set content = '<<SYS>>\\n' + system_message + '\\n<</SYS>>\\n\\n' + message['content'] %}"
    "{% else %}{% set content = message['content'] %}{% endif %}"
    "{% if message['role'] == 'user' %}"
    "{{ bos_token + '[INST] ' + content.strip() + ' [/INST]' }}"
    "{% elif message['role'] == 'assistant' %}"
    "{{ ' '  + content.strip() + ' ' + eos_token }}{% endif %}{% endfor %}")

LLAMA_3 = (
    "{% set loop_messages = messages %}{% for message in loop_messages %}"
    "{% set content = '<|start_header_id|>' + message['role'] + '<|end_header_id|>\\n\\n'+ "
    "message['content'] | trim + '<|eot_id|>' %}"
    "{% if loop.index0 == 0 %}{% set content = bos_token + content %}{% endif %}"
    "{{ content }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}"
    "{% endif %}")

LLAMA_31 = """{{- bos_token }}
{%- if custom_tools is defined %}
    {%- set tools = custom_tools %}
{%- endif %}
{%- if not tools_in_user_message is defined %}
    {%- set tools_in_user_message = true %}
{%- endif %}
{%- if not date_string is defined %}
    {%- set date_string = "26 Jul 2024" %}
{%- endif %}
{%- if not tools is defined %}
    {%- set tools = none %}
{%- endif %}

{#- This block extracts the system message, so we can slot it into the right place. #}
{%- if messages[0]['role'] == 'system' %}
    {%- set system_message = messages[0]['content']|trim %}
    {%- set messages = messages[1:] %}
{%- else %}
    {%- set system_message = "" %}
{%- endif %}

{#- System message + builtin tools #}
{{- "<|start_header_id|>system<|end_header_id|>\\n\\n" }}
{%- if builtin_tools is defined or tools is not none %}
    {{- "Environment: ipython\\n" }}
{%- endif %}
{%- if builtin_tools is defined %}
    {{- "Tools: " + builtin_tools | reject('equalto', 'code_interpreter') | join(", ") + "\\n\\n"}}
{%- endif %}
{{- "Cutting Knowledge Date: December 2023\\n" }}
{{- "Today Date: " + date_string + "\\n\\n" }}
{%- if tools is not none and not tools_in_user_message %}
    {{- "You have access to the following functions." }}
    {%- for t in tools %}
        {{- t | tojson(indent=4) }}
        {{- "\\n\\n" }}
    {%- endfor %}
{%- endif %}
{{- system_message }}
{{- "<|eot_id|>" }}

{#- Custom tools are passed in a user message with some extra guidance #}
{%- if tools_in_user_message and not tools is none %}
    {%- if messages | length != 0 %}
        {%- set first_user_message = messages[0]['content']|trim %}
        {%- set messages = messages[1:] %}
    {%- else %}
        {{- raise_exception("Cannot put tools in the first user message when there's no first user message!") }}
{%- endif %}
    {{- '<|start_header_id|>user<|end_header_id|>\\n\\n' -}}
    {{- "Given the following functions, please respond with a JSON for a function call " }}
    {%- for t in tools %}
        {{- t | tojson(indent=4) }}
        {{- "\\n\\n" }}
    {%- endfor %}
    {{- first_user_message + "<|eot_id|>"}}
{%- endif %}

{%- for message in messages %}
    {%- if not (message.role == 'ipython' or message.role == 'tool' or 'tool_calls' in message) %}
        {{- '<|start_header_id|>' + message['role'] + '<|end_header_id|>\\n\\n'+ message['content'] | trim + '<|eot_id|>' }}
    {%- elif 'tool_calls' in message %}
        {%- if not message.tool_calls|length == 1 %}
            {{- raise_exception("This model only supports single tool-calls at once!") }}
        {%- endif %}
        {%- set tool_call = message.tool_calls[0].function %}
        {%- if builtin_tools is defined and tool_call.name in builtin_tools %}
            {{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n' -}}
            {{- "<|python_tag|>" + tool_call.name + ".call(" }}
            {%- for arg_name, arg_val in tool_call.arguments | items %}
                {{- arg_name + '="' + arg_val + '"' }}
                {%- if not loop.last %}
                    {{- ", " }}
                {%- endif %}
                {%- endfor %}
            {{- ")" }}
        {%- else  %}
            {{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n' -}}
            {{- '{"name": "' + tool_call.name + '", ' }}
            {{- '"parameters": ' }}
            {{- tool_call.arguments | tojson }}
            {{- "}" }}
        {%- endif %}
        {{- "<|eot_id|>" }}
    {%- elif message.role == "tool" or message.role == "ipython" %}
        {{- "<|start_header_id|>ipython<|end_header_id|>\\n\\n" }}
        {%- if message.content is mapping or message.content is iterable %}
            {{- message.content | tojson }}
        {%- else %}
            {{- message.content }}
        {%- endif %}
        {{- "<|eot_id|>" }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}
{%- endif %}
"""

TINYLLAMA = (
    "{% for message in messages %}\n{% if message['role'] == 'user' %}\n"
    "{{ '<|user|>\n' + message['content'] + eos_token }}\n"
    "{% elif message['role'] == 'system' %}\n"
    "{{ '<|system|>\n' + message['content'] + eos_token }}\n"
    "{% elif message['role'] == 'assistant' %}\n"
    "{{ '<|assistant|>\n'  + message['content'] + eos_token }}\n"
    "{% endif %}\n{% if loop.last and add_generation_prompt %}\n{{ '<|assistant|>' }}\n"
    "{% endif %}\n{% endfor %}")

GEMMA_2 = (
    "{{ bos_token }}{% if messages[0]['role'] == 'system' %}"
    "{{ raise_exception('System role not supported') }}{% endif %}"
    "{% for message in messages %}"
    "{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}"
    "{{ raise_exception('Conversation roles must alternate user/assistant/user/assistant/...') }}"
    "{% endif %}{% if (message['role'] == 'assistant') %}{% set role = 'model' %}{% else %}"
    "{% set role = message['role'] %}{% endif %}"
    "{{ '<start_of_turn>' + role + '\n' + message['content'] | trim + '<end_of_turn>\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{'<start_of_turn>model\n'}}{% endif %}")

GEMMA_3 = """{{ bos_token }}
{%- if messages[0]['role'] == 'system' -%}
    {%- if messages[0]['content'] is string -%}
        {%- set first_user_prefix = messages[0]['content'] + '

' -%}
    {%- else -%}
        {%- set first_user_prefix = messages[0]['content'][0]['text'] + '

' -%}
    {%- endif -%}
    {%- set loop_messages = messages[1:] -%}
{%- else -%}
    {%- set first_user_prefix = "" -%}
    {%- set loop_messages = messages -%}
{%- endif -%}
{%- for message in loop_messages -%}
    {%- if (message['role'] == 'user') != (loop.index0 % 2 == 0) -%}
        {{ raise_exception("Conversation roles must alternate user/assistant/user/assistant/...") }}
    {%- endif -%}
    {%- if (message['role'] == 'assistant') -%}
        {%- set role = "model" -%}
    {%- else -%}
        {%- set role = message['role'] -%}
    {%- endif -%}
    {{ '<start_of_turn>' + role + '
' + (first_user_prefix if loop.first else "") }}
    {%- if message['content'] is string -%}
        {{ message['content'] | trim }}
    {%- elif message['content'] is iterable -%}
        {%- for item in message['content'] -%}
            {%- if item['type'] == 'image' -%}
                {{ '<start_of_image>' }}
            {%- elif item['type'] == 'text' -%}
                {{ item['text'] | trim }}
            {%- endif -%}
        {%- endfor -%}
    {%- else -%}
        {{ raise_exception("Invalid content type") }}
    {%- endif -%}
    {{ '<end_of_turn>
' }}
{%- endfor -%}
{%- if add_generation_prompt -%}
    {{'<start_of_turn>model
'}}
{%- endif -%}
"""

QWEN_2 = (
    "{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}"
    "{{ '<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n' }}{% endif %}"
    "{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n'}}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}")

QWEN_25 = """{%- if tools %}
    {{- '<|im_start|>system\\n' }}
    {%- if messages[0]['role'] == 'system' %}
        {{- messages[0]['content'] }}
    {%- else %}
        {{- 'You are Qwen, created by Alibaba Cloud. You are a helpful assistant.' }}
    {%- endif %}
    {{- "\\n\\n# Tools\\n\\nYou may call one or more functions to assist with the user query.\\n\\nYou are provided with function signatures within <tools></tools> XML tags:\\n<tools>" }}
    {%- for tool in tools %}
        {{- "\\n" }}
        {{- tool | tojson }}
    {%- endfor %}
    {{- "\\n</tools>\\n\\nFor each function call, return a json object with function name and arguments within <tool_call></tool_call> XML tags:\\n<tool_call>\\n{\\"name\\": <function-name>, \\"arguments\\": <args-json-object>}\\n</tool_call><|im_end|>\\n" }}
{%- else %}
    {%- if messages[0]['role'] == 'system' %}
        {{- '<|im_start|>system\\n' + messages[0]['content'] + '<|im_end|>\\n' }}
    {%- else %}
        {{- '<|im_start|>system\\nYou are Qwen, created by Alibaba Cloud. You are a helpful assistant.<|im_end|>\\n' }}
    {%- endif %}
{%- endif %}
{%- for message in messages %}
    {%- if (message.role == "user") or (message.role == "system" and not loop.first) or (message.role == "assistant" and not message.tool_calls) %}
        {{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>' + '\\n' }}
    {%- elif message.role == "assistant" %}
        {{- '<|im_start|>' + message.role }}
        {%- if message.content %}
            {{- '\\n' + message.content }}
        {%- endif %}
        {%- for tool_call in message.tool_calls %}
            {%- if tool_call.function is defined %}
                {%- set tool_call = tool_call.function %}
            {%- endif %}
            {{- '\\n<tool_call>\\n{"name": "' }}
            {{- tool_call.name }}
            {{- '", "arguments": ' }}
            {{- tool_call.arguments | tojson }}
            {{- '}\\n</tool_call>' }}
        {%- endfor %}
        {{- '<|im_end|>\\n' }}
    {%- elif message.role == "tool" %}
        {%- if (loop.index0 == 0) or (messages[loop.index0 - 1].role != "tool") %}
            {{- '<|im_start|>user' }}
        {%- endif %}
        {{- '\\n<tool_response>\\n' }}
        {{- message.content }}
        {{- '\\n</tool_response>' }}
        {%- if loop.last or (messages[loop.index0 + 1].role != "tool") %}
            {{- '<|im_end|>\\n' }}
        {%- endif %}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
{%- endif %}
"""

QWEN_3 = """{%- if tools %}
    {{- '<|im_start|>system\\n' }}
    {%- if messages[0].role == 'system' %}
        {{- messages[0].content + '\\n\\n' }}
    {%- endif %}
    {{- "# Tools\\n\\n<tools>" }}
    {%- for tool in tools %}
        {{- "\\n" }}
        {{- tool | tojson }}
    {%- endfor %}
    {{- "\\n</tools><|im_end|>\\n" }}
{%- else %}
    {%- if messages[0].role == 'system' %}
        {{- '<|im_start|>system\\n' + messages[0].content + '<|im_end|>\\n' }}
    {%- endif %}
{%- endif %}
{%- set ns = namespace(multi_step_tool=true, last_query_index=messages|length - 1) %}
{%- for message in messages[::-1] %}
    {%- set index = (messages|length - 1) - loop.index0 %}
    {%- if ns.multi_step_tool and message.role == "user" and message.content is string and not(message.content.startswith('<tool_response>') and message.content.endswith('</tool_response>')) %}
        {%- set ns.multi_step_tool = false %}
        {%- set ns.last_query_index = index %}
    {%- endif %}
{%- endfor %}
{%- for message in messages %}
    {%- if message.content is string %}
        {%- set content = message.content %}
    {%- else %}
        {%- set content = '' %}
    {%- endif %}
    {%- if (message.role == "user") or (message.role == "system" and not loop.first) %}
        {{- '<|im_start|>' + message.role + '\\n' + content + '<|im_end|>' + '\\n' }}
    {%- elif message.role == "assistant" %}
        {%- set reasoning_content = '' %}
        {%- if message.reasoning_content is string %}
            {%- set reasoning_content = message.reasoning_content %}
        {%- else %}
            {%- if '</think>' in content %}
                {%- set reasoning_content = content.split('</think>')[0].rstrip('\\n').split('<think>')[-1].lstrip('\\n') %}
                {%- set content = content.split('</think>')[-1].lstrip('\\n') %}
            {%- endif %}
        {%- endif %}
        {%- if loop.index0 > ns.last_query_index %}
            {%- if loop.last or (not loop.last and reasoning_content) %}
                {{- '<|im_start|>' + message.role + '\\n<think>\\n' + reasoning_content.strip('\\n') + '\\n</think>\\n\\n' + content.lstrip('\\n') }}
            {%- else %}
                {{- '<|im_start|>' + message.role + '\\n' + content }}
            {%- endif %}
        {%- else %}
            {{- '<|im_start|>' + message.role + '\\n' + content }}
        {%- endif %}
        {%- if message.tool_calls %}
            {%- for tool_call in message.tool_calls %}
                {%- if (loop.first and content) or (not loop.first) %}
                    {{- '\\n' }}
                {%- endif %}
                {%- if tool_call.function %}
                    {%- set tool_call = tool_call.function %}
                {%- endif %}
                {{- '<tool_call>\\n{"name": "' }}
                {{- tool_call.name }}
                {{- '", "arguments": ' }}
                {%- if tool_call.arguments is string %}
                    {{- tool_call.arguments }}
                {%- else %}
                    {{- tool_call.arguments | tojson }}
                {%- endif %}
                {{- '}\\n</tool_call>' }}
            {%- endfor %}
        {%- endif %}
        {{- '<|im_end|>\\n' }}
    {%- elif message.role == "tool" %}
        {%- if loop.first or (messages[loop.index0 - 1].role != "tool") %}
            {{- '<|im_start|>user' }}
        {%- endif %}
        {{- '\\n<tool_response>\\n' }}
        {{- content }}
        {{- '\\n</tool_response>' }}
        {%- if loop.last or (messages[loop.index0 + 1].role != "tool") %}
            {{- '<|im_end|>\\n' }}
        {%- endif %}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
    {%- if enable_thinking is defined and enable_thinking is false %}
        {{- '<think>\\n\\n</think>\\n\\n' }}
    {%- endif %}
{%- endif %}"""

FAMILIES = {"chatml": CHATML, "chatml_generation": CHATML_GENERATION, "llama_2": LLAMA_2,
            "llama_3": LLAMA_3, "llama_31": LLAMA_31, "tinyllama": TINYLLAMA, "gemma_2": GEMMA_2,
            "gemma_3": GEMMA_3, "qwen_2": QWEN_2, "qwen_25": QWEN_25, "qwen_3": QWEN_3}


def turn(role, content, **more):
    return {"role": role, "content": content, **more}


CALL = {"type": "function", "function": {
    "name": "weather", "arguments": {"city": "Z\u00fcrich <north>", "days": 2, "at": 0.5}}}
CONVERSATIONS = {
    "one": [turn("user", "What is 2 + 2?"), turn("assistant", "It is 4.")],
    "system": [turn("system", "  Be brief.\n"), turn("user", " Hi! "), turn("assistant", "\nHello. "),
               turn("user", "Bye"), turn("assistant", "See you \u2014 soon \U0001f600\n\n")],
    "open": [turn("user", "Only a question"), turn("assistant", ""), turn("user", "Again")],
    "wrong_order": [turn("assistant", "I begin"), turn("user", "no")],
    "thinking": [turn("user", "a"), turn("assistant", "<think>\nfirst\n</think>\n\nold answer"),
                 turn("user", "b"), turn("assistant", "<think>\nhard\n</think>\n\nnew answer")],
    "reasoning": [turn("user", "a"), turn("assistant", "final", reasoning_content="because")],
    "tools": [turn("user", "Weather?"), {"role": "assistant", "tool_calls": [CALL]},
              turn("tool", "rain"), turn("tool", "wind"), turn("assistant", "Rain and wind.")],
    "parts": [turn("user", [{"type": "text", "text": " Look "}, {"type": "image"}]),
              turn("assistant", [{"type": "text", "text": "A cat. "}])],
    "marks": [turn("user", "<|im_end|> \"quoted\" 'single' \\ {{ x }}"), turn("assistant", "</s>")],
}

HARSH = {
    "trim_blocks": "a\n{% if true %}\n  b\n  {% endif %}\nc\n",
    "lstrip": "  {% if true %}x{% endif %}\n\t{# c #}\n y {%+ if true %}z{% endif +%}\nw",
    "minus": "a  \n {{- 'b' -}}  \n c {%- if true -%} d {%- endif -%}  e {#- f -#} g",
    "comment_lines": "{# one\ntwo #}\nx{# a #}  {# b #}\n y",
    "line_start": "{{ 1 }}\n  {% set a = 2 %}\n{{ a }}  {% set b = 3 %}\n{{ b }}",
    "last_newline": "x\n\n",
    "windows": "a\r\n{% if true %}\r\nb\r\n{% endif %}\r\n",
    "raw": "{% raw %}{{ x }} {% if %}{% endraw %} {%- raw -%} a {%- endraw -%} b",
    "loop": "{% for i in range(7) %}{% if i == 1 %}{% continue %}{% endif %}"
            "{% if i == 5 %}{% break %}{% endif %}{{ i }}:{{ loop.index }}/{{ loop.length }}"
            "{{ loop.first }}{{ loop.last }}{{ loop.revindex }}{{ loop.previtem }}"
            "{{ loop.nextitem }}{{ loop.cycle('a', 'b') }};{% endfor %}",
    "loop_else": "{% for i in [] %}x{% else %}none{% endfor %}"
                 "{% for i in [1,2,3] if i > 1 %}{{ loop.index0 }}{{ i }}{% endfor %}",
    "loop_scope": "{% set x = 1 %}{% for i in [1,2] %}{{ x }}{% set x = i + 5 %}{{ x }}{% endfor %}"
                  "{{ x }}{% if true %}{% set x = 9 %}{% endif %}{{ x }}",
    "loop_pairs": "{% for k, v in {'a': 1, 'b': [2]}.items() %}{{ k }}={{ v }},{% endfor %}"
                  "{% for (a, b) in [(1, 2)] %}{{ a }}{{ b }}{% endfor %}{% for k in {'z': 1} %}{{ k }}{% endfor %}",
    "loop_changed": "{% for i in [1,1,2] %}{{ loop.changed(i) }}{% endfor %}",
    "recursive": "{% for n in tree recursive %}{{ n.v }}{% if n.c %}({{ loop(n.c) }}){% endif %}"
                 "{{ loop.depth }}{% endfor %}",
    "namespace": "{% set ns = namespace(n=0, s='') %}{% for i in range(4) %}"
                 "{% set ns.n = ns.n + i %}{% set ns.s = ns.s ~ i %}{% endfor %}{{ ns.n }}{{ ns.s }}",
    "macro": "{% macro m(a, b='x', c=none) %}[{{ a }}{{ b }}{{ c }}{{ d }}]{% endmacro %}"
             "{{ m(1) }}{{ m(1, c=3) }}{{ m('a', 'b', 'c') }}{% set d = 7 %}{{ m() }}",
    "macro_later": "{% macro m() %}{{ later }}{% endmacro %}{% set later = 3 %}{{ m() }}",
    "call": "{% macro f(x) %}<{{ caller(x) }}>{% endmacro %}"
            "{% call(y) f(3) %}{{ y * 2 }}{% endcall %}",
    "block_set": "{% set a %}x {{ 1 + 1 }} {% endset %}[{{ a }}]"
                 "{% set b | trim | upper %} q {% endset %}[{{ b }}]",
    "filter_block": "{% filter upper %}abc {{ 'x' }}{% endfilter %}",
    "with": "{% set a = 1 %}{% with a = 2, b = a %}{{ a }}{{ b }}{% endwith %}{{ a }}",
    "unpack": "{% set a, b = (1, 'x') %}{{ a }}{{ b }}{% set c = 1, 2 %}{{ c }}",
    "undefined": "[{{ nothing }}][{{ nothing is defined }}][{{ nothing or 'x' }}]"
                 "[{{ messages[0].nothing }}][{{ nothing | default('d') }}]"
                 "[{{ '' | default('e', true) }}][{% for x in nothing %}y{% endfor %}]"
                 "[{{ nothing | length }}][{{ nothing ~ 'z' }}][{{ nothing == none }}]",
    "if_expression": "{{ 'a' if false }}|{{ 'a' if true else 'b' }}|{{ 1 if 0 else 2 if 0 else 3 }}",
    "numbers": "{{ 7 // 2 }} {{ -7 // 2 }} {{ 7 % 3 }} {{ -7 % 3 }} {{ 7 / 2 }} {{ 2 ** 10 }} "
               "{{ 1.0 }} {{ 1e3 }} {{ 0.1 + 0.2 }} {{ 1e20 }} {{ -3 | abs }} {{ 2.5 | round }} "
               "{{ 3.14159 | round(2) }} {{ '12' | int + 1 }} {{ '1.5' | float }} {{ 'x' | int }} "
               "{{ 3 * 'ab' }} {{ true + 1 }} {{ 1_000 }} {{ 2 ** -1 }} {{ 5.0 // 2 }} {{ -5.5 % 2 }}",
    "compare": "{{ 1 < 2 < 3 }} {{ 1 < 2 > 3 }} {{ 'a' < 'b' }} {{ 1 == 1.0 }} {{ '1' == 1 }} "
               "{{ [1, 2] == [1, 2] }} {{ (1,) == [1] }} {{ {'a': 1} == {'a': 1} }} {{ not 1 == 2 }} "
               "{{ 'a' in 'cat' }} {{ 3 not in [1, 2] }} {{ 'k' in {'k': 1} }} {{ 1 <= 1 }} {{ 2 >= 3 }}",
    "logic": "{{ 0 or 'x' }} {{ 1 and 'y' }} {{ '' or none }} {{ not none }} {{ not not 'a' }} "
             "{{ true and not false }}",
    "print": "{{ [1, 'a', none, true, 1.5] }} {{ {'a': 'b', 1: [2]} }} {{ (1,) }} {{ () }} "
             "{{ \"it's\" }} {{ [\"it's\", 'say \"x\"', '\\n\\t\\\\', '\\x07\u00e9\u20ac'] }}",
    "slices": "{{ 'h\u00e9llo'[1:3] }} {{ 'h\u00e9llo'[::-1] }} {{ 'abc'[-1] }} {{ [1,2,3,4][1:] }} "
              "{{ [1,2,3,4][:-1] }} {{ [1,2,3,4][::2] }} {{ [1,2,3,4][::-2] }} {{ 'abc'[5:] }} "
              "{{ 'abc'[-2:] }} {{ 'abc'[9] }} {{ [1][3] }} {{ (1,2,3)[1:] }}",
    "strings": "{{ ' a b '.strip() }}|{{ 'xxaxx'.strip('x') }}|{{ 'a,b,,c'.split(',') }}|"
               "{{ ' a  b '.split() }}|{{ 'a b c'.split(' ', 1) }}|{{ 'a.b.c'.rsplit('.', 1) }}|"
               "{{ 'abc'.startswith('ab') }}|{{ 'abc'.endswith(('x', 'c')) }}|"
               "{{ 'abc'.replace('b', 'XX') }}|{{ 'aXbX'.replace('X', '', 1) }}|"
               "{{ 'hello wORLD'.title() }}|{{ 'hELLO'.capitalize() }}|{{ '\u00c4\u00d6'.lower() }}|"
               "{{ 'abcabc'.find('c') }}|{{ 'abc'.find('z') }}|{{ 'aXa'.count('a') }}|"
               "{{ '-'.join(['a', 'b']) }}|{{ 'a\\nb\\n'.splitlines() }}|{{ '12'.isdigit() }}|"
               "{{ 'abc'.removeprefix('a').removesuffix('c') }}|{{ '%s-%d' % ('a', 3) }}|"
               "{{ '{} {1} {x}'.format('p', 'q', x=1) if false else '{0}{x}'.format('p', x=1) }}",
    "string_escapes": "{{ 'a\\nb\\t\\x41\\u00e9\\\\\\'\\q' }}{{ \"d\\\"q\" 'joined' }}",
    "filters": "{{ [3,1,2] | sort | join(',') }} {{ ['b','A'] | sort }} {{ [1,2,3] | reverse | list }} "
               "{{ [1,1,2] | unique | list }} {{ [1,2] | first }} {{ [1,2] | last }} {{ [1,2] | sum }} "
               "{{ [1,5] | max }} {{ [4,2] | min }} {{ 'ab' | list }} {{ 'a b c' | wordcount }} "
               "{{ '<a & b>' | e }} {{ ['x', 'y'] | map('upper') | join }} "
               "{{ [0, 1, none, 'a'] | select | list }} {{ [1,2,3,4] | reject('odd') | list }} "
               "{{ 'abc' | replace('a', 'z') }} {{ 'a b' | title }} {{ [1,2,3] | batch(2) | list }} "
               "{{ {'b': 1, 'a': 2} | dictsort }} {{ {'a': 1} | items | list }} {{ 'x' | string }} "
               "{{ '%s!' | format('hi') }} {{ 'l1\\nl2\\n\\nl3' | indent(2) }} {{ 'a' | upper | lower }}",
    "attribute_filters": "{{ people | map(attribute='name') | join(', ') }} "
                         "{{ people | selectattr('age', 'gt', 30) | map(attribute='name') | list }} "
                         "{{ people | rejectattr('tag') | map(attribute='name') | list }} "
                         "{{ people | selectattr('tag', 'defined') | list | length }} "
                         "{{ people | sort(attribute='age', reverse=true) | map(attribute='name') | list }}",
    "tojson": "{{ data | tojson }} {{ data | tojson(indent=2) }} {{ '<&>\u00e9' | tojson }} "
              "{{ data | tojson(ensure_ascii=true) }} {{ [] | tojson(indent=2) }} "
              "{{ data | tojson(separators=(',', ':'), sort_keys=true) }}",
    "tests": "{{ 1 is odd }} {{ 2 is even }} {{ 'a' is string }} {{ 1 is number }} {{ none is none }} "
             "{{ [] is sequence }} {{ {} is mapping }} {{ 'a' is iterable }} {{ true is boolean }} "
             "{{ 1 is integer }} {{ 1.0 is float }} {{ 4 is divisibleby 2 }} {{ 1 is not none }} "
             "{{ 'a' is in 'abc' }} {{ 1 is eq 1 }} {{ 2 is gt(1) }} {{ range is callable }} "
             "{{ true is true }} {{ 'AB' is upper }} {{ none is not defined }} {{ 3 is sameas 3 }}",
    "precedence": "{{ 'a' ~ 1 * 2 }} {{ 1 + 2 * 3 ** 2 }} {{ -2 | abs }} {{ 'a' + 'b' | upper }} "
                  "{{ not 1 in [1] }} {{ 1 if [] else 2 }} {{ (1, 2) | length }} {{ -1 ** 2 }}",
    "dict_methods": "{{ {'a': 1}.get('a') }} {{ {'a': 1}.get('b') }} {{ {'a': 1}.get('b', 3) }} "
                    "{{ {'a': 1}.keys() | list }} {{ {'a': 1}.values() | list }} "
                    "{{ {'items': 5}['items'] }} {{ dict(a=1, b=2) }} {{ {'a': {'b': 3}}.a.b }}",
    "generation": "x{% generation %}\n {{ 'h\u00e9' }}\n{% endgeneration %}\ny"
                  "{%- generation -%} z {%- endgeneration %}{% generation %}{% endgeneration %}",
    "generation_scope": "{% set a = 1 %}{% generation %}{% set a = 2 %}{{ a }}{% endgeneration %}{{ a }}",
    "braces": "{{ {'a': {'b': 1}} }}{{ '}}' }}{{ '%}' }}{{ {}}}",
    "in_loop_macro": "{% for i in [1, 2] %}{% macro m(x) %}{{ x }}{{ i }}{% endmacro %}{{ m('a') }}{% endfor %}",
    "joiner": "{% set j = joiner('; ') %}{% for i in [1,2,3] %}{{ j() }}{{ i }}{% endfor %}",
    "range": "{{ range(3) | list }}{{ range(1, 4) | list }}{{ range(5, 0, -2) | list }}",
    "star": "{% macro m(a, b) %}{{ a }}{{ b }}{% endmacro %}{{ m(*[1, 2]) }}{{ m(**{'a': 3, 'b': 4}) }}",
    "raised": "line one\n{% if true %}\n{{ raise_exception('not ' ~ 'this') }}\n{% endif %}",
    "bad_attribute": "a\n{{ nothing.more }}",
    "bad_add": "{{ 'a' + 1 }}",
    "bad_call": "{{ nothing() }}",
    "bad_zero": "\n\n{{ 1 // 0 }}",
    "bad_syntax": "{% if x %}a",
    "bad_tag": "a\n{% nonsense %}",
    "bad_filter": "{{ 1 | nonsense }}",
    "bad_mutation": "{{ messages.append(1) }}",
    "unicode_space": "a\u3000\u00a0{%- if true %}\u2028 x {{- 1 -}} \u3000b{% endif %}\n"
                     "\u00a0\u2003{% set a = 1 %}\n\x0b\x1c{#- c -#}\x85z",
    "loop_else_left": "{% for i in [1, 2] %}{{ i }}{% break %}{% else %}left{% endfor %}|"
                      "{% for i in [1, 2] %}{% continue %}{% else %}left{% endfor %}|"
                      "{% for i in [1, 2] %}{{ i }}{% if i == 2 %}{% break %}{% endif %}"
                      "{% else %}left{% endfor %}",
    "more_arguments": "{% macro m(a) %}{{ a }}{{ varargs }}{{ kwargs }}{% endmacro %}"
                      "{{ m(1) }}{{ m(1, 2, 3) }}{{ m(1, x=2) }}{{ m(a=1, b=[2]) }}",
    "bad_argument": "{% macro m(a) %}{{ a }}{% endmacro %}{{ m(1, b=2) }}",
    "more_methods": "{{ ' a  b c '.split(none, 1) }}{{ ' a b  c '.rsplit(none, 1) }}"
                    "{{ 'a.b.c'.partition('.') }}{{ 'a.b.c'.rpartition('.') }}{{ 'a'.partition('.') }}"
                    "{{ 'x'.center(6) }}|{{ 'xy'.center(7, '*') }}|{{ 'x'.ljust(3) }}|{{ 'x'.rjust(3) }}|"
                    "{{ '-7'.zfill(4) }}|{{ 'aXb'.swapcase() }}|{{ 'ab'.isalpha() }}{{ 'a1'.isalnum() }}"
                    "{{ '\u00e9'.islower() }}{{ 'A1'.isupper() }}{{ '1'.islower() }}{{ ''.isascii() }}"
                    "{{ 'a\\r\\nb\\x0bc'.splitlines() }}{{ 'a\\nb'.splitlines(true) }}"
                    "{{ 'abcabc'.find('c', 3) }}{{ 'abcabc'.count('b', 2, 4) }}{{ 'abc'.rindex('b') }}"
                    "{{ 'abc'.startswith('b', 1) }}{{ 'ab'.replace('', '-') }}{{ 'abc'.replace('', '-', 2) }}"
                    "{{ 'h\u00e9\u00e9'[-1] }}{{ 'h\u00e9'[1] }}{{ 'h'[5] }}{{ [1, 2] * 2 }}{{ 2 * (1,) }}",
    "formats": "{{ '%5d|%-5s|%05.1f|%.3s|%x|%X|%o|%c|%e|%+d' % (3, 'a', 2.25, 'abcdef', 255, 255, 8, 'z',"
               " 12345.678, 4) }}{{ '%(a)s-%(b)03d' % {'a': 1, 'b': 7} }}{{ '%s' % [1] }}{{ '%%' % () }}",
    "bad_format": "{{ 'a' % 3 }}",
    "more_filters": "{{ 'a\\r\\nb\\x0bc\\n\\nd' | indent(2) }}|{{ 'a\\n' | indent(2, true) }}|"
                    "{{ \"it's a-b (c) d_e\" | title }}|{{ 5 | round }} {{ 2.675 | round(2) }} {{ 15 | round(-1) }}"
                    " {{ 2.5 | round }} {{ 1.115 | round(2) }} {{ 1.1 | round(0, 'ceil') }}|"
                    "{{ 'one two, three_four' | wordcount }}|{{ 'hello world' | truncate(8) }}|"
                    "{{ 'hello world, hello' | truncate(9, true) }}|{{ 'hello' | truncate(3) }}|"
                    "{{ 'x' | center(5) }}|{{ [1, 2, 3, 4, 5] | slice(2) | list }}"
                    "{{ [1, 2, 3] | slice(2, 0) | list }}{{ [1, 2, 3] | batch(2, 'z') | list }}|"
                    "{{ people | groupby('age') | map('first') | list }}{{ none | select | list }}"
                    "{{ people | sort(attribute='age,name') | map(attribute='name') | list }}"
                    "{{ [1, 2, 3] | select('>=', 2) | list }}{{ people[0] | attr('nothing') is defined }}",
    "powers": "{{ (-1) ** 62 }} {{ 2 ** 62 }} {{ 0 ** 0 }} {{ [1, 2, 3][::9223372036854775807] }}"
              " {{ [1, 2, 3][1::-9223372036854775807] }} {{ ['\u00a0\u3000', '\u200b'] }}",
    "bad_range": "{{ range(1000000) | length }}",
    "bad_assign": "{% set x = {} %}{% set x.y = 1 %}",
}
MORE = {
    "tree": [{"v": 1, "c": [{"v": 2, "c": []}, {"v": 3, "c": [{"v": 4}]}]}],
    "people": [{"name": "ann", "age": 31}, {"name": "bob", "age": 29, "tag": "x"},
               {"name": "cy", "age": 44}],
    "data": {"b": [1, 2.0, None, True], "a": "\u00e9<&>'\"\n\u0007", "c": {}, "d": 1e-7},
}


def plain(chat):
    """As apply_chat_template prepares messages."""
    return _alias_reasoning_fields([{k: v for k, v in m.items() if v is not None} for m in chat])


def rendered(template, variables):
    try:
        text, spans = _render_with_assistant_indices(
            _compile_jinja_template(template), variables["messages"], variables["tools"],
            variables["documents"], variables["add_generation_prompt"],
            **{k: v for k, v in variables.items()
               if k not in ("messages", "tools", "documents", "add_generation_prompt")})
    except Exception as error:  # what Jinja raises has many types
        return {"error": str(error), "line": getattr(error, "lineno", None) or 0}
    to_bytes = lambda place: len(text[:place].encode())
    return {"text": text, "spans": [[to_bytes(a), to_bytes(b)] for a, b in spans]}


def cases():
    base = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "tools": None,
            "documents": None}
    for family, template in FAMILIES.items():
        for name, chat in CONVERSATIONS.items():
            for prompt in (False, True):
                variables = {**base, "messages": plain(chat), "add_generation_prompt": prompt}
                yield f"{family}/{name}/{int(prompt)}", template, variables
    for name, template in HARSH.items():
        variables = {**base, **MORE, "messages": plain(CONVERSATIONS["one"]),
                     "add_generation_prompt": False}
        yield f"harsh/{name}", template, variables


def main():
    found, templates = [], {}
    for name, template, variables in cases():
        result = rendered(template, variables)
        templates[name.split("/")[1 if name.startswith("harsh") else 0]] = template
        found.append({"name": name, "variables": variables, **result})
    by_template = {}
    for case in found:
        parts = case["name"].split("/")
        case["template"] = parts[1] if parts[0] == "harsh" else parts[0]
        by_template.setdefault(case["template"], []).append(case)
    errors = sum("error" in case for case in found)
    assert errors < len(found) / 4, f"{errors} of {len(found)} cases are errors"
    rf.write_json_gz(sys.argv[1], json.dumps({"templates": templates, "cases": found},
                                             ensure_ascii=True, separators=(",", ":")) + "\n")
    print(f"{len(found)} cases, {errors} of them errors, {len(templates)} templates")


if __name__ == "__main__":
    main()
