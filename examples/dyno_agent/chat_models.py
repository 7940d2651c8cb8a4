"""Which chat model drives the agent: rule-based, a local language model, or one at an endpoint."""

from langchain_core.language_models import BaseChatModel

from dyno_agent.settings import ConfigurationError, environment_setting

RULE_BASED = "rule-based"
LOCAL = "local"


def chat_model_from_environment() -> BaseChatModel:
    """`DYNO_MODEL` is `rule-based` (the default), `local`, or a model's name at an OpenAI-compatible endpoint.

    Imports wait for the choice: the endpoint's client and the local engine are large, and one of them is optional.
    """
    name = environment_setting("DYNO_MODEL") or RULE_BASED
    if name == RULE_BASED:
        from dyno_agent.rule_based import RuleBasedChatModel

        return RuleBasedChatModel()
    if name == LOCAL:
        from dyno_agent.local_llm import local_model

        return local_model()
    key = environment_setting("OPENAI_API_KEY")
    if key is None:
        raise ConfigurationError(
            f"DYNO_MODEL is {name!r} but OPENAI_API_KEY is not set: set it (any word for a server without keys), "
            f"or set DYNO_MODEL to {RULE_BASED} or {LOCAL}"
        )
    from dyno_agent.endpoint import openai_model

    return openai_model(name, key, environment_setting("OPENAI_BASE_URL"))
