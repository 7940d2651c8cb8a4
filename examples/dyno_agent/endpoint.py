"""A chat model behind any endpoint that speaks OpenAI's chat completions."""

from langchain_core.language_models import BaseChatModel
from langchain_openai import ChatOpenAI
from pydantic import SecretStr


def openai_model(name: str, api_key: str, base_url: str | None) -> BaseChatModel:
    """The model of that name; without a base URL at OpenAI itself."""
    return ChatOpenAI(model=name, api_key=SecretStr(api_key), base_url=base_url, temperature=0)
