"""Which chat model drives the agent: the rule-based one, or one at an OpenAI-compatible endpoint."""

from langchain_core.language_models import BaseChatModel

from dyno_agent.settings import ConfigurationError, environment_setting

RULE_BASED = "rule-based"


def chat_model_from_environment() -> BaseChatModel:
    """`DYNO_MODEL` names the model; `OPENAI_BASE_URL` and `OPENAI_API_KEY` say where it is served."""
    name = environment_setting("DYNO_MODEL") or RULE_BASED
    if name == RULE_BASED:
        from dyno_agent.rule_based import RuleBasedChatModel

        return RuleBasedChatModel()
    key = environment_setting("OPENAI_API_KEY")
    if key is None:
        raise ConfigurationError(
            f"DYNO_MODEL is {name!r} but OPENAI_API_KEY is not set: set it (any word for a server without keys), "
            f"or set DYNO_MODEL={RULE_BASED}"
        )
    return openai_model(name, key, environment_setting("OPENAI_BASE_URL"))


def openai_model(name: str, api_key: str, base_url: str | None) -> BaseChatModel:
    """A model behind any endpoint that speaks OpenAI's chat completions."""
    from langchain_openai import ChatOpenAI
    from pydantic import SecretStr

    return ChatOpenAI(model=name, api_key=SecretStr(api_key), base_url=base_url, temperature=0)
