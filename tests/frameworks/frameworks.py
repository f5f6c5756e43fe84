"""The agent frameworks that are tested: what to install, and what their models have to answer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from evenhand.testing import Rule

OPENAI, ANTHROPIC, GOOGLE = "OpenAI", "Anthropic", "Google"


@dataclass(frozen=True, kw_only=True)
class Framework:
    """One framework with the models of one vendor.

    Attributes:
        agent: `agents/with_AGENT.py` uses it.
        title: What people call it.
        packages: What to install, the one whose version counts first.
        module: What is there once it is installed.
        vendor: Whose API it speaks.
        turns: Calls of one answer.
        final: The tool that ends a conversation; empty where words do.
        streams: Whether its agents hand on pieces of an answer.
        native: Whether the model is told of tools, rather than asked for them in words.
        counts: Whether it has the vendor count the tokens of a stream.
        runs_tools: Whether it runs tools itself, so that it can say how they ended.
        tells_failures: Whether a tool that raised is a step that failed.
        batches: Whether the vendor takes its calls in batches.
        tool: What the model knows the tool by.
        server: The file in `servers/` that serves the agent over HTTP, in Node; its packages are npm's. Empty for an
            agent in the eval's own process.
    """

    agent: str
    title: str
    packages: tuple[str, ...]
    module: str
    vendor: str = OPENAI
    turns: int = 2
    final: str = ""
    streams: bool = True
    native: bool = True
    counts: bool = True
    runs_tools: bool = True
    tells_failures: bool = True
    batches: bool = True
    tool: str = "find_order"
    server: str = ""

    @property
    def calls(self) -> int:
        """Calls that the run records for one answer: of a server, one over HTTP, which lists those of its models."""
        return 1 if self.server else self.turns


_LANGCHAIN_VENDORS = ("langchain-openai", "langchain-anthropic", "langchain-google-genai")
_LANGCHAIN = ("langchain", "langgraph", *_LANGCHAIN_VENDORS)
_PYDANTIC = ("pydantic-ai-slim[openai,anthropic]",)

FRAMEWORKS = (
    Framework(
        agent="openai_agents",
        title="OpenAI Agents",
        packages=("openai-agents",),
        module="agents",
    ),
    Framework(
        agent="langchain_openai",
        title="LangChain, LangGraph: OpenAI",
        packages=_LANGCHAIN,
        module="langchain_openai",
        counts=False,
    ),
    Framework(
        agent="langchain_anthropic",
        title="LangChain, LangGraph: Anthropic",
        packages=_LANGCHAIN,
        module="langchain_anthropic",
        vendor=ANTHROPIC,
    ),
    Framework(
        agent="langchain_google",
        title="LangChain, LangGraph: Google",
        packages=_LANGCHAIN,
        module="langchain_google_genai",
        vendor=GOOGLE,
        batches=False,
    ),
    Framework(
        agent="pydantic_ai",
        title="Pydantic AI: OpenAI",
        packages=_PYDANTIC,
        module="pydantic_ai",
    ),
    Framework(
        agent="pydantic_ai_anthropic",
        title="Pydantic AI: Anthropic",
        packages=_PYDANTIC,
        module="pydantic_ai",
        vendor=ANTHROPIC,
    ),
    Framework(
        agent="llama_index",
        title="LlamaIndex",
        packages=("llama-index-core", "llama-index-llms-openai"),
        module="llama_index.core",
    ),
    Framework(
        agent="smolagents",
        title="smolagents",
        packages=("smolagents[openai]",),
        module="smolagents",
        final="final_answer",
    ),
    Framework(agent="crewai", title="CrewAI", packages=("crewai",), module="crewai"),
    Framework(
        agent="google_adk",
        title="Google ADK",
        packages=("google-adk",),
        module="google.adk",
        vendor=GOOGLE,
        batches=False,
    ),
    Framework(
        agent="dspy",
        title="DSPy",
        packages=("dspy",),
        module="dspy",
        turns=3,
        streams=False,
        native=False,
    ),
    Framework(
        agent="autogen",
        title="AutoGen",
        packages=("autogen-agentchat", "autogen-ext[openai]"),
        module="autogen_agentchat",
    ),
    Framework(
        agent="agent_framework",
        title="Microsoft Agent Framework",
        packages=("agent-framework-core", "agent-framework-openai"),
        module="agent_framework",
    ),
    Framework(agent="haystack", title="Haystack", packages=("haystack-ai",), module="haystack"),
    Framework(agent="agno", title="Agno", packages=("agno", "openai"), module="agno"),
    Framework(
        agent="strands",
        title="Strands Agents",
        packages=("strands-agents[openai]",),
        module="strands",
        tells_failures=False,
        batches=False,
    ),
    Framework(
        agent="instructor",
        title="Instructor",
        packages=("instructor",),
        module="instructor",
        turns=1,
        final="Order",
    ),
    Framework(
        agent="litellm",
        title="LiteLLM",
        packages=("litellm",),
        module="litellm",
        runs_tools=False,
    ),
    Framework(
        agent="azure_openai",
        title="Azure OpenAI, by OpenAI's SDK",
        packages=("openai",),
        module="openai",
        runs_tools=False,
        streams=False,
        batches=False,
    ),
    Framework(
        agent="openrouter",
        title="OpenRouter, by OpenAI's SDK",
        packages=("openai",),
        module="openai",
        runs_tools=False,
        streams=False,
        batches=False,
    ),
    Framework(
        agent="mistral",
        title="Mistral's SDK",
        packages=("mistralai",),
        module="mistralai",
        runs_tools=False,
        streams=False,
    ),
    Framework(
        agent="vertex",
        title="Vertex AI, by Google's SDK",
        packages=("google-genai",),
        module="google.genai",
        vendor=GOOGLE,
        runs_tools=False,
        batches=False,
    ),
    Framework(
        agent="semantic_kernel",
        title="Semantic Kernel",
        packages=("semantic-kernel",),
        module="semantic_kernel",
        tool="Shop-find_order",
    ),
    Framework(
        agent="mirascope", title="Mirascope", packages=("mirascope[openai]",), module="mirascope"
    ),
    Framework(
        agent="magentic",
        title="magentic",
        packages=("magentic",),
        module="magentic",
        tells_failures=False,
        batches=False,
    ),
    Framework(
        agent="ai_sdk",
        title="Vercel AI SDK, over HTTP",
        packages=("ai", "@ai-sdk/openai", "zod", "node@22"),
        module="",
        counts=False,
        server="ai_sdk.mjs",
    ),
    Framework(
        agent="mastra",
        title="Mastra, over HTTP",
        packages=(
            "@mastra/core",
            "@mastra/hono",
            "@hono/node-server",
            "hono",
            "@ai-sdk/openai",
            "zod",
            "node@22",
        ),
        module="",
        server="mastra.mjs",
    ),
)


def rules(framework: Framework, orders: int, latency_ms: float = 0) -> Iterator[Rule]:
    """What the models answer: first they look an order up, then they say where it is."""
    for n in range(1, orders + 1):
        seen, wanted = rf"parcel {n} was delivered", rf"order {n}\b"
        text = f"Order {n} was delivered on 3 May."
        call = {"name": framework.tool, "arguments": {"order": n}}
        if not framework.native:
            step = r"starting with the field `\[\[ ## next_thought"
            yield Rule(
                (seen, step),
                _fields(next_thought="Done.", next_tool_name="finish", next_tool_args="{}"),
            )
            yield Rule((seen,), _fields(reasoning="It is there.", answer=text))
            arguments = f'{{"order": {n}}}'
            yield Rule(
                (wanted, step),
                _fields(
                    next_thought="Look.", next_tool_name="find_order", next_tool_args=arguments
                ),
                latency_ms=latency_ms,
            )
        elif framework.turns == 1:
            filled = {"name": framework.final, "arguments": {"order": n, "state": "delivered"}}
            yield Rule((wanted,), tool_calls=(filled,), latency_ms=latency_ms)
        else:
            end = {"name": framework.final, "arguments": {"answer": text}}
            ending = {"tool_calls": (end,)} if framework.final else {"reply": text}
            yield Rule((seen,), latency_ms=latency_ms, **ending)
            yield Rule((wanted,), tool_calls=(call,), latency_ms=latency_ms)


def _fields(**fields: str) -> str:
    """An answer in fields, as DSPy asks for it."""
    return "\n\n".join(
        f"[[ ## {name} ## ]]\n{text}" for name, text in {**fields, "completed": ""}.items()
    )
