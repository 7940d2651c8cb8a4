"""The scripted model server, asked by the SDKs that real agents use."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anthropic
import httpx
import openai
import pytest
from google import genai
from google.genai import errors as genai_errors
from google.genai import types as genai_types

from scripted_model import ScriptedModel, serve
from scripted_model.script import Script, ScriptError

EXAMPLES = Path(__file__).parents[3] / "examples"
SCRIPT: dict[str, Any] = {
    "rules": [
        {
            "when": {"user": r"balance of (?P<account>\w+), limit (?P<limit>[\d,]+)"},
            "say": "One moment.",
            "call": [
                {"get_balance": {"account": "${account}", "limit": "${limit:number}", "note": "for ${account}"}},
                {"log": {}},
            ],
            "usage": {"input": 11, "output": 7},
        },
        {
            "when": {"user": "balance", "results": {"get_balance": r"(?P<amount>\d+\.\d\d)", "log": ""}},
            "say": "It is $${amount}.\nAnything else? ",
        },
        {"when": {"user": "^busy$"}, "status": 429, "say": "slow down", "times": 1},
        {"when": {"user": "^busy$"}, "say": "Free again."},
        {"when": {"user": "^cut$"}, "say": "one two three four", "cut": 3},
        {"when": {"user": "^long$"}, "say": "one two", "finish": "length"},
        {"when": {"user": "^record$", "turn": 2, "system": "be brief"}, "say": {"total": 3}},
    ]
}
ASKED = "Balance of A7, limit 1,000"
ARGUMENTS = {"account": "A7", "limit": 1000, "note": "for A7"}
CALLS = [("get_balance", ARGUMENTS), ("log", {})]
FINAL = "It is $12.50.\nAnything else? "


@pytest.fixture(scope="module")
def model() -> Iterator[ScriptedModel]:
    with serve(SCRIPT) as running:
        yield running


@pytest.fixture(scope="module")
def chat(model: ScriptedModel) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=f"{model.url}/v1", api_key="none", max_retries=0) as client:
        yield client


@pytest.fixture(scope="module")
def claude(model: ScriptedModel) -> Iterator[anthropic.Anthropic]:
    with anthropic.Anthropic(base_url=model.url, api_key="none", max_retries=0) as client:
        yield client


@pytest.fixture(scope="module")
def gemini(model: ScriptedModel) -> Iterator[genai.Client]:
    client = genai.Client(api_key="none", http_options=genai_types.HttpOptions(base_url=model.url))
    yield client
    client.close()


@pytest.mark.parametrize("streamed", [False, True])
def test_chat_completions_call_tools_and_then_answer(chat: openai.OpenAI, streamed: bool) -> None:
    def ask(messages: list[Any]) -> Any:
        if not streamed:
            return chat.chat.completions.create(model="m", messages=messages)
        with chat.chat.completions.stream(model="m", messages=messages, stream_options={"include_usage": True}) as said:
            return said.get_final_completion()

    first = ask([{"role": "user", "content": ASKED}])
    message = first.choices[0].message
    assert message.content == "One moment."
    assert [(call.function.name, json.loads(call.function.arguments)) for call in message.tool_calls] == CALLS
    assert (first.choices[0].finish_reason, first.usage.total_tokens) == ("tool_calls", 18)
    results = [
        {"role": "tool", "tool_call_id": call.id, "content": "12.50" if call.function.name == "get_balance" else "ok"}
        for call in message.tool_calls
    ]
    calls = [{"id": call.id, "type": "function", "function": call.function.model_dump()} for call in message.tool_calls]
    second = ask(
        [
            {"role": "user", "content": ASKED},
            {"role": "assistant", "content": "One moment.", "tool_calls": calls},
            *results,
        ]
    )
    assert (second.choices[0].message.content, second.choices[0].finish_reason) == (FINAL, "stop")


@pytest.mark.parametrize("streamed", [False, True])
def test_responses_call_tools_and_then_answer(chat: openai.OpenAI, streamed: bool) -> None:
    def ask(given: Any) -> Any:
        if not streamed:
            return chat.responses.create(model="m", input=given)
        with chat.responses.stream(model="m", input=given) as said:
            return said.get_final_response()

    first = ask(ASKED)
    calls = [item for item in first.output if item.type == "function_call"]
    assert first.output_text == "One moment."
    assert [(call.name, json.loads(call.arguments)) for call in calls] == CALLS
    assert (first.status, first.usage.total_tokens) == ("completed", 18)
    given: list[Any] = [{"role": "user", "content": ASKED}]
    for call in calls:
        given.append({"type": "function_call", "call_id": call.call_id, "name": call.name, "arguments": "{}"})
        given.append({"type": "function_call_output", "call_id": call.call_id, "output": "12.50"})
    assert ask(given).output_text == FINAL


@pytest.mark.parametrize("streamed", [False, True])
def test_anthropic_messages_call_tools_and_then_answer(claude: anthropic.Anthropic, streamed: bool) -> None:
    def ask(messages: list[Any]) -> Any:
        if not streamed:
            return claude.messages.create(model="m", max_tokens=99, messages=messages)
        with claude.messages.stream(model="m", max_tokens=99, messages=messages) as said:
            return said.get_final_message()

    first = ask([{"role": "user", "content": ASKED}])
    calls = [block for block in first.content if block.type == "tool_use"]
    assert first.content[0].text == "One moment."
    assert [(call.name, call.input) for call in calls] == CALLS
    assert (first.stop_reason, first.usage.input_tokens, first.usage.output_tokens) == ("tool_use", 11, 7)
    results = [
        {"type": "tool_result", "tool_use_id": call.id, "content": [{"type": "text", "text": "12.50"}]}
        for call in calls
    ]
    blocks = [{"type": "tool_use", "id": call.id, "name": call.name, "input": call.input} for call in calls]
    second = ask(
        [
            {"role": "user", "content": ASKED},
            {"role": "assistant", "content": blocks},
            {"role": "user", "content": results},
        ]
    )
    assert (second.content[0].text, second.stop_reason) == (FINAL, "end_turn")


@pytest.mark.parametrize("streamed", [False, True])
def test_gemini_calls_tools_and_then_answers(gemini: genai.Client, streamed: bool) -> None:
    def ask(contents: Any) -> tuple[list[Any], Any]:
        if streamed:
            chunks = list(gemini.models.generate_content_stream(model="m", contents=contents))
        else:
            chunks = [gemini.models.generate_content(model="m", contents=contents)]
        return [part for chunk in chunks for part in chunk.candidates[0].content.parts], chunks[-1]

    parts, last = ask(ASKED)
    assert "".join(part.text or "" for part in parts) == "One moment."
    calls = [part.function_call for part in parts if part.function_call]
    assert [(call.name, call.args) for call in calls] == CALLS
    assert (last.candidates[0].finish_reason, last.usage_metadata.total_token_count) == ("STOP", 18)
    contents = [
        genai_types.Content(role="user", parts=[genai_types.Part(text=ASKED)]),
        genai_types.Content(role="model", parts=[genai_types.Part(function_call=call) for call in calls]),
        genai_types.Content(
            role="user",
            parts=[
                genai_types.Part.from_function_response(name=call.name, response={"result": "12.50"}) for call in calls
            ],
        ),
    ]
    assert "".join(part.text or "" for part in ask(contents)[0]) == FINAL


def test_request_without_rule_is_refused_with_what_a_rule_would_need(
    model: ScriptedModel, chat: openai.OpenAI, claude: anthropic.Anthropic, gemini: genai.Client
) -> None:
    want = "no rule of script matches.*Turn 1, last words of the user: 'Sing'.*results since then: none"
    with pytest.raises(openai.BadRequestError, match=want):
        chat.chat.completions.create(model="m", messages=[{"role": "user", "content": "Sing"}])
    with pytest.raises(openai.BadRequestError, match=want):
        chat.responses.create(model="m", input="Sing", stream=True)
    with pytest.raises(anthropic.BadRequestError, match=want):
        claude.messages.create(model="m", max_tokens=9, messages=[{"role": "user", "content": "Sing"}])
    with pytest.raises(genai_errors.ClientError, match=want):
        gemini.models.generate_content(model="m", contents="Sing")
    assert len(model.unmatched) == 4


def test_rule_with_times_is_used_up() -> None:
    with serve(SCRIPT) as own, openai.OpenAI(base_url=f"{own.url}/v1", api_key="none", max_retries=0) as client:
        with pytest.raises(openai.RateLimitError, match="slow down"):
            client.chat.completions.create(model="m", messages=[{"role": "user", "content": "busy"}])
        second = client.chat.completions.create(model="m", messages=[{"role": "user", "content": "busy"}])
        assert second.choices[0].message.content == "Free again."
        assert [path for path, _ in own.requests] == ["/v1/chat/completions"] * 2


def test_cut_ends_the_connection_before_the_answer_does(chat: openai.OpenAI) -> None:
    asked: list[Any] = [{"role": "user", "content": "cut"}]
    stream = iter(chat.chat.completions.create(model="m", messages=asked, stream=True))
    assert "".join(next(stream).choices[0].delta.content or "" for _ in range(3)) == "one two"
    with pytest.raises(openai.APIConnectionError):
        next(stream)
    with pytest.raises(openai.APIConnectionError):
        chat.chat.completions.create(model="m", messages=asked)


def test_finish_turn_system_and_json_answers(chat: openai.OpenAI) -> None:
    long = chat.chat.completions.create(model="m", messages=[{"role": "user", "content": "long"}])
    assert long.choices[0].finish_reason == "length"
    history: list[Any] = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "hello"},
        {"role": "assistant", "content": "hi"},
        {"role": "user", "content": [{"type": "text", "text": "record"}]},
    ]
    said = chat.chat.completions.create(model="m", messages=history)
    assert said.choices[0].message.content == '{"total": 3}'
    with pytest.raises(openai.BadRequestError, match="no rule"):
        chat.chat.completions.create(model="m", messages=history[3:])


def test_models_and_embeddings(chat: openai.OpenAI) -> None:
    assert [it.id for it in chat.models.list()] == ["scripted"]
    near, same, far = (
        it.embedding for it in chat.embeddings.create(model="m", input=["red cat", "red cat", "dog"]).data
    )
    assert near == same
    assert len(near) == 1536
    assert sum(a * b for a, b in zip(near, far, strict=True)) < 0.1


@pytest.mark.parametrize(
    ("rule", "why"),
    [
        ({"when": {"user": "("}, "say": "x"}, "rule 1: .*in a pattern"),
        ({"when": {"prompt": "x"}, "say": "x"}, "rule 1: .*unexpected keyword argument 'prompt'"),
        ({"says": "x"}, "rule 1: .*unexpected keyword argument 'says'"),
        ({"say": "${name}"}, "rule 1: .*name.* is not a named group"),
        ({"when": {"user": "x"}}, "rule 1: no answer"),
        ({"call": {"tool": "x"}}, "rule 1: `call` is not"),
        ({"say": "x", "finish": "end"}, "rule 1: `finish` is 'end'"),
        ({"say": "x", "when": {"results": "some"}}, "rule 1: `results` is 'some'"),
    ],
)
def test_script_with_a_mistake_is_refused(rule: dict[str, Any], why: str) -> None:
    with pytest.raises(ScriptError, match=why):
        Script.load({"rules": [rule]})


def test_command_serves_a_file_and_refuses_a_wrong_one(tmp_path: Path) -> None:
    script = tmp_path / "script.yaml"
    script.write_text("rules:\n  - when: {user: hello}\n    say: Good day.\n")
    command = [sys.executable, "-m", "scripted_model", str(script)]
    with subprocess.Popen(command, cwd=EXAMPLES, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        url = server.stdout.readline().split()[-1]
        said = httpx.post(f"{url}/v1/chat/completions", json={"messages": [{"role": "user", "content": "Hello"}]})
        server.terminate()
    assert said.json()["choices"][0]["message"]["content"] == "Good day."
    script.write_text("rules: 3\n")
    failed = subprocess.run(command, cwd=EXAMPLES, capture_output=True, text=True, check=False)
    assert (failed.returncode, failed.stderr) == (2, f"{script}: `rules` is not a list of rules.\n")


def test_script_of_the_readme_can_be_read() -> None:
    assert Script.load(EXAMPLES / "scripted_model" / "bank.yaml").rules
