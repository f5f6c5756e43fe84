"""What judged numbers of one eval of several depend on."""

from __future__ import annotations

from dataclasses import replace

from tests.runs import Make, result

from evenhand.analysis.trust.judgements.judged_basis import Basis, Parts, is_called
from evenhand.core.encoding import encode
from evenhand.core.run import AnswerDetails, CallEnd, CallStart
from evenhand.core.variant import Variant

TWO = (
    Variant(0, "p", "m", eval="one", prompt_raw="Say one."),
    Variant(1, "p", "m", eval="two", prompt_raw="Say two."),
)


def basis(*models: str, of: str) -> Basis:
    """What an eval depends on where these models answered in the first and in the second."""
    parts = Parts("evals", TWO)
    for i, model in enumerate(models):
        trial = result(i, variant=i, case="c", prompt=f"Say {i}.")
        parts.add(replace(trial, answer=AnswerDetails(model=model)))
    return parts.basis([of])


def test_another_model_of_one_eval_is_no_change_of_another():
    """Neither is another case of it."""
    before, after = (basis("m-1", model, of="one") for model in ("m-1", "m-2"))
    assert (before.system, before.models, before.data) == (after.system, after.models, after.data)
    before, after = (basis("m-1", model, of="two") for model in ("m-1", "m-2"))
    assert before.system != after.system
    assert before.models != after.models
    assert before.written != basis("m-1", "m-1", of="one").written


async def test_a_call_that_failed_is_no_setting_that_a_judge_was_asked_with(make_run: Make):
    """Nor one that was never answered: nobody was judged by it."""

    def call(nth: int, temperature: float, end: CallEnd | None) -> tuple[CallStart, CallEnd | None]:
        identity = encode({"body": {"temperature": temperature}})
        return CallStart(0, "k", nth, "judge", "p", identity, 0.0), end

    fine = CallEnd(b"{}", "provider", 0.1, 1, 1, 0.0, "a")
    failed = replace(fine, error="overloaded")
    settings: list[object] = []
    for calls in (
        [call(0, 0.0, fine)],
        [call(0, 0.0, fine), call(1, 1.0, failed), call(2, 2.0, None)],
    ):
        parts = Parts("evals", TWO[:1])
        parts.add_calls(await make_run([result(0)], calls=calls))
        settings.append(parts.basis().settings)
    assert settings[0] == settings[1]


def test_what_else_ran_is_no_change_of_a_system_of_which_only_its_name_is_known():
    """Runs of several sets call a variant by its set, too."""
    alone = Variant(0, "many · terse", "m", eval="slugs: many")
    among = replace(alone, prompt="slugs: many · terse")
    other = Variant(1, "more: ok", "m", eval="more: ok")
    parts = {name: Parts("evals", v) for name, v in (("alone", [alone]), ("among", [among, other]))}
    one, two = (each.basis([alone.eval]) for each in parts.values())
    assert one.system == two.system
    system = parts["alone"].system_of(0)
    assert parts["among"].system_of(0) == system
    assert parts["among"].system_of(1) != system
    for variant in (alone, among):
        assert is_called(variant, "many · terse", "m")
        assert is_called(variant, "slugs: many · terse", "m")
        assert not is_called(variant, "many", "m")
