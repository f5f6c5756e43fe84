"""Runs an agent under an instrumentation, and writes the spans that it emits as OTLP JSON: `write_spans.py NAME FILE`.

It runs in an environment that has the agent's framework, the instrumentation and OpenTelemetry's SDK, against a fake
provider with the rules of `frameworks.py` to which the environment's variables lead. `spans/` has the files, packed.
"""

import asyncio
import base64
import importlib
import inspect
import json
import sys
from pathlib import Path

from google.protobuf.json_format import MessageToDict
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

sys.path.insert(0, str(Path(__file__).parent / "agents"))
NAME, TO = sys.argv[1:]
exporter, provider = InMemorySpanExporter(), TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(exporter))
trace.set_tracer_provider(provider)


def instrumented(module: str, name: str) -> None:
    """Has an instrumentation write its spans here."""
    getattr(importlib.import_module(module), name)().instrument(tracer_provider=provider)


match NAME:
    case "pydantic_ai":
        from pydantic_ai import Agent

        Agent.instrument_all()
        agent = "pydantic_ai"
    case "openinference_openai_agents":
        instrumented("openinference.instrumentation.openai_agents", "OpenAIAgentsInstrumentor")
        agent = "openai_agents"
    case "openinference_langchain":
        instrumented("openinference.instrumentation.langchain", "LangChainInstrumentor")
        agent = "langchain_openai"
    case "openinference_llama_index":
        instrumented("openinference.instrumentation.llama_index", "LlamaIndexInstrumentor")
        agent = "llama_index"
    case "openinference_smolagents":
        instrumented("openinference.instrumentation.smolagents", "SmolagentsInstrumentor")
        agent = "smolagents"
    case "openinference_crewai":
        instrumented("openinference.instrumentation.crewai", "CrewAIInstrumentor")
        agent = "crewai"
    case "openinference_openai":
        instrumented("openinference.instrumentation.openai", "OpenAIInstrumentor")
        agent = "openai_loop"
    case "openinference_anthropic":
        instrumented("openinference.instrumentation.anthropic", "AnthropicInstrumentor")
        agent = "langchain_anthropic"
    case "openllmetry_openai":
        instrumented("opentelemetry.instrumentation.openai", "OpenAIInstrumentor")
        agent = "openai_loop"
    case "agent_framework":
        from agent_framework.observability import enable_instrumentation

        enable_instrumentation(enable_sensitive_data=True)
        agent = "agent_framework"
    case other:  # ADK, AutoGen: they write spans by themselves
        agent = other

module = importlib.import_module(f"with_{agent}")
if agent == "openai_agents":
    import agents

    agents.set_tracing_disabled(False)


async def ask() -> None:
    """On one loop, as clients keep connections."""
    for n in (1, 2):
        answer = module.answer(f"Where is order {n}?")
        text = await answer if inspect.isawaitable(answer) else answer
        if "delivered" not in text:
            raise SystemExit(f"the agent said {text!r}")


asyncio.run(ask())

request = MessageToDict(encode_spans(exporter.get_finished_spans()))
for resource in request["resourceSpans"]:
    for scope in resource["scopeSpans"]:
        for span in scope["spans"]:
            for key in ("traceId", "spanId", "parentSpanId"):
                if key in span:
                    span[key] = base64.b64decode(span[key]).hex()
Path(TO).write_text(json.dumps(request, indent=1) + "\n", "utf-8")
