"""The model APIs that Carob reads and writes."""

from __future__ import annotations

from carob.providers.anthropic import AnthropicMessages
from carob.providers.base import ModelApi
from carob.providers.bedrock import BedrockConverse
from carob.providers.gemini import Gemini
from carob.providers.ollama import OllamaChat
from carob.providers.openai_chat import ChatCompletions
from carob.providers.openai_responses import Responses

CHAT = ChatCompletions()
RESPONSES = Responses()
APIS: tuple[ModelApi, ...] = (CHAT, RESPONSES, AnthropicMessages(), Gemini(), OllamaChat(), BedrockConverse())
_NO_MODEL = (
    *("/embeddings", "/moderations", "/count_tokens", "/tokenize", "/rerank", "/files", "/models", "/speech"),
    *(":embedcontent", ":batchembedcontents", ":counttokens", "/transcriptions", "/translations", "/embed"),
    *("/input_tokens", "/generations", "/vector_stores"),
)
_PROMPT_KEYS = (b'"messages"', b'"input"', b'"contents"', b'"prompt"')


def find_api(path: str) -> ModelApi | None:
    """The API that an address belongs to, with whatever comes before it."""
    plain = path.partition("?")[0].rstrip("/")
    return next((api for api in APIS if api.address.search(plain)), None)


def asks_a_model(path: str, body: bytes) -> bool:
    """Whether an address of a model service that belongs to no API that is read may be one of a model that answers."""
    plain = path.partition("?")[0].rstrip("/").lower()
    return not plain.endswith(_NO_MODEL) and any(key in body for key in _PROMPT_KEYS)
