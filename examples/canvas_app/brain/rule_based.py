"""The rule-based brain: reads a message by patterns, calls tools and words the answer. No model is involved."""

from canvas_app.brain.base import Turn
from canvas_app.brain.language.steps import Call, Forget, Report, Say, Step, Synthesis, Tell
from canvas_app.brain.language.understand import understand
from canvas_app.brain.lookups import metric_answer, topic_answer
from canvas_app.brain.surroundings import look_around
from canvas_app.brain.wording import answer_pieces, finished, tool_answer
from canvas_app.signals.report import measure
from canvas_app.store.workspace import Workspace
from canvas_app.synthesis.answer import synthesize


def words_for(workspace: Workspace, step: Step) -> str:
    """The answer of a step that needs no tool."""
    match step:
        case Say(text):
            return text
        case Tell(topic):
            return topic_answer(workspace, topic)
        case Report(metrics, window, filters):
            return "\n".join(metric_answer(workspace, metric, window, filters) for metric in metrics)
        case Synthesis(request, sources):
            return synthesize(measure(workspace, workspace.spaces.current(), sources), request)
        case Forget():
            workspace.conversation.set_pending(None)
            return "All right, nothing is changed."
        case Call():
            raise TypeError("a tool call has no words of its own")


class RuleBasedBrain:
    name = "rule-based"

    async def answer(self, turn: Turn) -> None:
        paragraphs: list[str] = []
        for step in understand(turn.message, look_around(turn.workspace)):
            if isinstance(step, Call):
                paragraphs.append(tool_answer(await turn.use(step.tool, step.arguments)))
            else:
                paragraphs.append(words_for(turn.workspace, step))
        for piece in answer_pieces(finished(paragraphs)):
            await turn.say(piece)
