"""A desk of the OpenAI Agents SDK that asks before it pays. Its model says what is written here."""

import json

from agents import Agent, Model, ModelResponse, Runner, Usage, function_tool, set_tracing_disabled
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

set_tracing_disabled(True)


def say(words):
    content = [ResponseOutputText(text=words, type="output_text", annotations=[])]
    return ResponseOutputMessage(id="m", type="message", role="assistant", status="completed", content=content)


def call(name, id, **arguments):
    return ResponseFunctionToolCall(type="function_call", name=name, call_id=id, arguments=json.dumps(arguments))


class WrittenModel(Model):
    """Says its turns one after the other."""

    def __init__(self, *turns):
        self.turns = list(turns)

    async def get_response(self, *args, **kwargs):
        usage = Usage(requests=1, input_tokens=7, output_tokens=3)
        return ModelResponse(output=self.turns.pop(0), usage=usage, response_id=None)

    def stream_response(self, *args, **kwargs):
        raise NotImplementedError


@function_tool(needs_approval=True)
def pay(room: str) -> str:
    """Pay for a room."""
    return f"{room} is paid"


@function_tool
def look(room: str) -> str:
    """Look at a room."""
    return "free"


def build_desk():
    clerk = Agent(name="Clerk", model=WrittenModel([say("The clerk is here.")]))
    asked = [say("Let me look."), call("look", "c0", room="Blue")]
    asked += [call("pay", "c1", room="Blue"), call("pay", "c2", room="Red")]
    model = WrittenModel(asked, [call("transfer_to_clerk", "c3")])
    return Agent(name="Desk", tools=[look, pay], handoffs=[clerk], model=model)


async def answer(prompt, conversation):
    """What Carob is given: it resumes a run by the state in the place of the prompt."""
    return await Runner.run(conversation.state.setdefault("desk", build_desk()), prompt)


def answer_in_a_thread(prompt, conversation):
    return Runner.run_sync(conversation.state.setdefault("desk", build_desk()), prompt)


async def answer_in_words(prompt, conversation):
    return str((await answer(prompt, conversation)).final_output)
