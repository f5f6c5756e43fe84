"""Who is asked, and who judges: the models of a plan, each made once. All front doors share it.

Who judges where a scorer or an assertion names nobody is decided here: the eval set, eval.yml or config; else the
project, `[tool.evenhand]` in pyproject.toml; else EVENHAND_JUDGE. The model that answers never judges itself unasked.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from evenhand.core.errors import UsageError
from evenhand.core.json_shapes import is_mapping
from evenhand.core.provider import Provider, judge_id, misset
from evenhand.core.record import Record
from evenhand.languages.documents.project import Project, project_for
from evenhand.providers.catalog import KEYS, create, key_missing, timed
from evenhand.providers.missing_keys import NO_KEY, set_key
from evenhand.providers.servers import SERVERS
from evenhand.providers.wanted import Fill, plainly_filled

Prices = Mapping[str, Mapping[str, float]]
"""Of models, by id: `cost`, or `inputCost` and `outputCost`, in dollars per token."""

_BARE = (
    (re.compile(r"claude-[\w.@-]+"), "anthropic"),
    (re.compile(r"(gpt-|o\d|chatgpt-)[\w.-]*"), "openai"),
)

JUDGE_VARIABLE = "EVENHAND_JUDGE"


def model_id(name: str) -> str:
    """The id of a model: `claude-haiku-4-5` is `anthropic:claude-haiku-4-5`; what has a colon is an id already."""
    for pattern, vendor in _BARE:
        if pattern.fullmatch(name):
            return f"{vendor}:{name}"
    return name


class DefaultJudge(Record, frozen=True):
    """Who judges where nobody is named, and who says so.

    Attributes:
        id: Its id; empty for nobody.
        named_by: The eval set or file itself, `pyproject.toml` or `EVENHAND_JUDGE`; empty for nobody.
        path: The project's file, where it names the judge.
    """

    id: str = ""
    named_by: str = ""
    path: str = ""
    line: int = 0


def default_judge(
    own: str, own_file: str, project: Project, env: Mapping[str, str]
) -> DefaultJudge:
    """Who judges by default.

    Args:
        own: The judge that the eval set, eval.yml or config names; empty for none.
        own_file: What that is called.
    """
    if own:
        return DefaultJudge(model_id(own), own_file)
    if project.judge is not None:
        named = project.judge
        return DefaultJudge(model_id(named.id), "pyproject.toml", named.path, named.line)
    in_environment = env.get(JUDGE_VARIABLE, "").strip()
    return (
        DefaultJudge(model_id(in_environment), JUDGE_VARIABLE) if in_environment else DefaultJudge()
    )


class Roster:
    """The models of one plan, each made once for each time limit.

    Args:
        base: The folder that paths in ids start from. Its project says how long an attempt may take, by default.
        env: The environment: keys and addresses.
        prices: What models cost, by id, in the words of a provider's config.
        project: What the project of `base` says; by default, as it is read here.
        fill: Fills in the templates of providers' settings.

    Raises:
        ConfigError: What is wrong with the project's table, where it is read here.
    """

    def __init__(
        self,
        base: Path,
        env: Mapping[str, str],
        *,
        prices: Prices | None = None,
        project: Project | None = None,
        fill: Fill = plainly_filled,
    ) -> None:
        self.base = base
        self.env = env
        self.prices = dict(prices or {})
        self.project = project_for(base) if project is None else project
        self._fill = fill
        self._made: dict[tuple[str, float | None], Provider] = {}

    def __call__(self, name: str | Mapping[str, Any], timeout_s: float | None = None) -> Provider:
        """The model with this name, or with these settings, `{"id": …, "config": {…}}`; the same one each time.

        Raises:
            UsageError: Nobody knows it.
        """
        if isinstance(name, Mapping):
            return self._with_settings(name, timeout_s)
        key = (model_id(name), timeout_s)
        if key not in self._made:
            self._made[key] = self.make(name, timeout_s=timeout_s)
        return self._made[key]

    def _with_settings(self, model: Mapping[str, Any], timeout_s: float | None) -> Provider:
        if wrong := misset(model):
            raise UsageError(f"the model {str(model.get('id'))!r:.60}: {'; '.join(wrong)}")
        written = json.dumps(model, sort_keys=True, default=repr)
        key = (written, timeout_s)
        if key not in self._made:
            label, config = model.get("label") or "", model.get("config")
            self._made[key] = self.make(
                model["id"], label=label, config=config, timeout_s=timeout_s
            )
        return self._made[key]

    def make(
        self,
        name: str,
        *,
        label: str = "",
        config: Mapping[str, Any] | None = None,
        env: Mapping[str, str] | None = None,
        base: Path | None = None,
        timeout_s: float | None = None,
    ) -> Provider:
        """A model of its own, with settings that others of this name need not have. It is not among those `made`.

        Raises:
            UsageError: Nobody knows it.
        """
        id_ = model_id(name)
        limit_s = self.project.timeout_s if timeout_s is None else timeout_s
        return create(
            id_,
            label=label,
            config={**self.prices.get(id_, {}), **timed(id_, limit_s), **(config or {})},
            env=self.env if env is None else env,
            base=self.base if base is None else base,
            fill=self._fill,
        )

    def of(self, model: object) -> Provider | None:
        """The model of this name or with these settings; or the user's own provider, as it is. None for None.

        Raises:
            UsageError: Nobody knows the name.
        """
        model = model if model is None or isinstance(model, str) else judge_id(model)
        if isinstance(model, str) or is_mapping(model):
            return self(model)
        return cast("Provider | None", model)

    def wrong(
        self, name: str | Mapping[str, Any], timeout_s: float | None = None
    ) -> UsageError | None:
        """What is wrong with a name; None for one that somebody knows, which is among those `made` from now on."""
        try:
            self(name, timeout_s)
        except UsageError as error:
            return error
        return None

    def keyless(self, model: object, *, judges: bool = False) -> tuple[str, str] | None:
        """What to say, and to do, of a model that cannot be asked for want of a key; None for one that can.

        Args:
            model: Its name, or a provider; None, and what nobody knows, lack no key.
            judges: It judges, or is asked by a scorer.
        """
        if isinstance(model, str) or is_mapping(model):
            model = None if self.wrong(model) else self(model)
        provider = cast("Provider | None", model)
        key = key_missing(provider, judges=judges) if provider is not None else ""
        if provider is None or not key:
            return None
        return NO_KEY.format(provider.id), set_key(key)

    def judge_of(self, chosen: DefaultJudge) -> Provider | None:
        """The model of who judges by default; None for nobody. A path in a project's id starts from the project.

        Raises:
            UsageError: Nobody knows it.
        """
        if not chosen.id:
            return None
        key = (chosen.id, None)
        if key not in self._made:
            base = Path(chosen.path).parent if chosen.path else self.base
            self._made[key] = self.make(chosen.id, base=base)
        return self._made[key]

    @property
    def made(self) -> list[Provider]:
        """All that were made so far, in the order in which they were first named."""
        return list(self._made.values())


_KINDS = frozenset({*KEYS, "azureopenai", "echo", "hf", "llama", "ollama", "palm"})
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/@:+-]{0,199}")


def look_at_vendor(name: str) -> None:
    """Lets the id of a model pass that a vendor or a server of models has.

    An address in an id (`openai:llama3@http://…`) would say where prompts and keys are sent to, so it is refused, too.

    Raises:
        UsageError: It is anything else: a program, a file, a function, a web service, a package's provider.
    """
    kind, colon, rest = model_id(name).partition(":")
    known = kind in _KINDS and (bool(colon and rest) or kind in ("echo", "llama"))
    addressed = "//" in name or (kind in SERVERS and "@" in rest)
    if not known or addressed or not _PLAIN.fullmatch(name):
        raise UsageError(
            f"{name!r:.60} can't be asked from here: only models of vendors and of model servers can be typed",
            hint="Write an id such as openai:chat:gpt-5-mini. `evenhand info providers` lists the vendors.",
        )
