"""Servers that speak OpenAI's API: where they are, what their keys are called, and what they can be asked for."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import field

from evenhand.core.record import Record


class CompatibleServer(Record, frozen=True):
    """A server that speaks OpenAI's API.

    Attributes:
        address: Where its API begins.
        key: The environment variable that holds the key; empty for a server that wants none.
        bases: Environment variables that name another address, beside <KIND>_API_BASE_URL, which goes first.
        kinds: What it can be asked for, each with the model that is meant where an id names none. The first kind is
            meant where the id says none.
    """

    name: str
    address: str
    key: str
    bases: tuple[str, ...] = ()
    kinds: Mapping[str, str] = field(default_factory=lambda: {"chat": ""})


_AND_EMBEDDINGS = {"chat": "", "embedding": ""}

SERVERS: Mapping[str, CompatibleServer] = {
    "openai": CompatibleServer(
        "OpenAI",
        "https://api.openai.com/v1",
        "OPENAI_API_KEY",
        ("OPENAI_BASE_URL",),
        {
            "chat": "",
            "responses": "",
            "completion": "",
            "embedding": "text-embedding-3-large",
            "moderation": "omni-moderation-latest",
            "decisions": "",
        },
    ),
    "alibaba": CompatibleServer(
        "Alibaba Model Studio",
        "https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
        "DASHSCOPE_API_KEY",
        kinds=_AND_EMBEDDINGS,
    ),
    "cerebras": CompatibleServer("Cerebras", "https://api.cerebras.ai/v1", "CEREBRAS_API_KEY"),
    "cohere": CompatibleServer(
        "Cohere", "https://api.cohere.ai/compatibility/v1", "COHERE_API_KEY", kinds=_AND_EMBEDDINGS
    ),
    "deepseek": CompatibleServer("DeepSeek", "https://api.deepseek.com/v1", "DEEPSEEK_API_KEY"),
    "fireworks": CompatibleServer(
        "Fireworks",
        "https://api.fireworks.ai/inference/v1",
        "FIREWORKS_API_KEY",
        kinds=_AND_EMBEDDINGS,
    ),
    "github": CompatibleServer(
        "GitHub Models", "https://models.github.ai/inference", "GITHUB_TOKEN"
    ),
    "groq": CompatibleServer(
        "Groq",
        "https://api.groq.com/openai/v1",
        "GROQ_API_KEY",
        kinds={"chat": "", "responses": ""},
    ),
    "hyperbolic": CompatibleServer(
        "Hyperbolic", "https://api.hyperbolic.xyz/v1", "HYPERBOLIC_API_KEY"
    ),
    "llamaapi": CompatibleServer("Llama API", "https://api.llama.com/compat/v1", "LLAMA_API_KEY"),
    "localai": CompatibleServer(
        "LocalAI",
        "http://localhost:8080/v1",
        "",
        ("LOCALAI_BASE_URL",),
        {"chat": "", "completion": "", "embedding": ""},
    ),
    "mistral": CompatibleServer(
        "Mistral",
        "https://api.mistral.ai/v1",
        "MISTRAL_API_KEY",
        kinds={"chat": "", "embedding": "mistral-embed", "moderation": "mistral-moderation-latest"},
    ),
    "moonshot": CompatibleServer("Moonshot", "https://api.moonshot.ai/v1", "MOONSHOT_API_KEY"),
    "novita": CompatibleServer(
        "Novita", "https://api.novita.ai/openai/v1", "NOVITA_API_KEY", kinds=_AND_EMBEDDINGS
    ),
    "nvidia": CompatibleServer(
        "NVIDIA", "https://integrate.api.nvidia.com/v1", "NVIDIA_API_KEY", kinds=_AND_EMBEDDINGS
    ),
    "openrouter": CompatibleServer(
        "OpenRouter", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"
    ),
    "perplexity": CompatibleServer("Perplexity", "https://api.perplexity.ai", "PERPLEXITY_API_KEY"),
    "togetherai": CompatibleServer(
        "Together", "https://api.together.xyz/v1", "TOGETHER_API_KEY", kinds=_AND_EMBEDDINGS
    ),
    "vllm": CompatibleServer(
        "vLLM",
        "http://localhost:8000/v1",
        "",
        ("VLLM_BASE_URL",),
        {"chat": "", "completion": "", "embedding": ""},
    ),
    "voyage": CompatibleServer(
        "Voyage", "https://api.voyageai.com/v1", "VOYAGE_API_KEY", kinds={"embedding": ""}
    ),
    "xai": CompatibleServer(
        "xAI", "https://api.x.ai/v1", "XAI_API_KEY", kinds={"chat": "", "responses": ""}
    ),
}

KINDS: Mapping[str, str] = {
    "chat": "chat",
    "responses": "the responses API",
    "completion": "plain completion",
    "embedding": "embeddings",
    "moderation": "moderation",
    "decisions": "the Decisions API: typed questions, answered with probabilities",
}
"""What can be asked for, as ids say it, and in words. `embeddings` is `embedding` too."""
