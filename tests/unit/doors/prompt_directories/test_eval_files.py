from __future__ import annotations

import pytest

from evenhand.core.errors import UsageError
from evenhand.doors.prompt_directories.eval_yml import chosen, read_eval
from evenhand.languages.documents.findings import Findings
from evenhand.providers.roster import Roster


def told(shelf, text: str) -> str:
    """What is wrong with this eval.yml."""
    shelf.add("greet", eval=text)
    findings = Findings()
    read_eval(shelf.read(), findings, Roster(shelf.library.root, {}))
    return "\n".join(map(str, findings.problems + findings.broken_parts))


def test_an_eval_is_read(shelf):
    """Defaults, cases with inputs and assertions, a rubric with its judge, and queries."""
    shelf.add(
        "greet",
        eval="""\
        defaults: {model: claude-opus-4-7, timeout_s: 60}
        triggering:
          should_match: [say hello]
          should_not_match: [write a poem]
        cases:
          - name: one
            inputs: {who: Ada}
            assert: [{contains: x}, {max_tokens: 3}]
            rubric: "How friendly, 1-5?"
            judge: {model: claude-haiku-4-5, pass_threshold: 3}
          - name: two
            inputs: {}
            rubric: "How friendly, 1-5?"
        """,
    )
    found = read_eval(shelf.read(), Findings())
    assert found is not None
    one, two = found.cases
    assert (one.name, one.inputs, len(one.makes), one.timeout_s) == ("one", {"who": "Ada"}, 2, 60)
    assert (one.judging.model, one.judging.at_least) == ("claude-haiku-4-5", 3)
    assert (two.judging.at_least, two.model) == (4, "claude-opus-4-7")
    assert found.triggering is not None
    assert found.triggering.queries == [("say hello", True), ("write a poem", False)]


def test_a_pass_rate_of_0_is_0(shelf):
    """From 0 to 1, both included; 1 where nothing is said."""
    cases = "cases: [{name: one, inputs: {who: Ada}, assert: [{contains: x}]}]"
    for said, rate in (("{pass_rate: 0}", 0), ("{pass_rate: 0.4}", 0.4), ("{}", 1)):
        shelf.add("greet", eval=f"defaults: {said}\n{cases}\n")
        found = read_eval(shelf.read(), Findings())
        assert found is not None
        assert found.defaults.pass_rate == rate


def test_all_that_is_wrong_with_an_eval_is_told_at_once(shelf):
    """Doubled names, missing inputs, missing assertions, unknown operators and wrong kinds, with their lines."""
    said = told(
        shelf,
        """\
        cases:
          - name: one
            inputs: {}
            assert: [{contians: x}]
          - name: one
            inputs: {}
          - inputs: {}
            assert: [{matches: "("}, {max_tokens: many}, {contains_any: x}, {contains: ""}]
          - name: two
            assert: [{contains: x}]
          - name: three
            inputs_from: nowhere
            assert: {contains: x}
            judge: {pass_threshold: 9}
            timeout_s: -1
          - just text
        triggering:
          should_match: ["", 3]
        """,
    )
    for line in (
        "eval.yml:4:15: assertion 'contians' is not known\n  Did you mean 'contains'?",
        "eval.yml:5:5: the name 'one' is taken already, in line 2",
        "eval.yml:5:5: case 'one' expects nothing",
        "eval.yml:7:5: a case has no name",
        "is not a regular expression",
        "max_tokens is 'many', not a whole number",
        "contains_any is 'x', not a list of texts",
        "'' is not a text to look for",
        "case 'two' has neither inputs nor inputs_from",
        "'nowhere/inputs.yml' does not exist",
        "assert is {'contains': 'x'}, not a list",
        "pass_threshold is 9",
        "It is a number from 1 to 5",
        "timeout_s is -1",
        "a case is 'just text'",
        "a query of should_match is '', not a text",
        "a query of should_match is 3, not a text",
    ):
        assert line in said, line


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{}", "has neither cases nor triggering"),
        ("[]", "is not a list of names with values"),
        ("triggering: {judge: {model: echo}}", "neither should_match nor should_not_match"),
        ("cases: one", "cases are 'one', not a list"),
        ("triggering: {should_match: one}", "should_match is 'one', not a list"),
    ],
)
def test_an_eval_of_the_wrong_shape_is_told(shelf, text, said):
    """What is no suite is told, and where."""
    assert said in told(shelf, text)


def test_inputs_are_looked_for_in_the_repository_first(shelf):
    """Then in the prompt's folder; inline inputs go over both."""
    text = """\
        cases:
          - name: a
            inputs_from: shared
            inputs: {more: 1}
            assert: [{contains: x}]
          - name: b
            inputs_from: own
            assert: [{contains: x}]
        """
    root = shelf.library.root
    (root / "shared").mkdir()
    (root / "shared" / "inputs.yml").write_text("who: root\n", "utf-8")
    shelf.add(
        "greet", eval=text, **{"shared/inputs.yml": "who: own\n", "own/inputs.yml": "who: o\n"}
    )
    found = read_eval(shelf.read(), Findings())
    assert found is not None
    assert [case.inputs for case in found.cases] == [{"who": "root", "more": 1}, {"who": "o"}]


@pytest.mark.parametrize("folder", ["../away", "/etc", "link"])
def test_inputs_come_from_the_repository_alone(shelf, folder, tmp_path_factory):
    """A path, or a link, that leads out of it is a problem."""
    away = tmp_path_factory.mktemp("away")
    (away / "inputs.yml").write_text("who: x\n", "utf-8")
    (shelf.library.root / "link").symlink_to(away)
    text = f"cases: [{{name: a, inputs_from: {folder}, assert: [{{contains: x}}]}}]"
    assert "leads out of the repository" in told(shelf, text)


def test_a_case_is_chosen_by_name(shelf):
    """The nearest name is offered where there is none."""
    found = read_eval(shelf.read(), Findings())
    assert found is not None
    assert [case.name for case in chosen(found.cases, "one")] == ["one"]
    with pytest.raises(UsageError, match="there is no case 'won'"):
        chosen(found.cases, "won")


def test_an_assertion_that_compares_variants_is_refused(shelf):
    """A case has one variant, whose output would always win."""
    text = (
        "cases: [{name: a, inputs: {}, assert: [{type: max-score}, {type: select-best, value: x}]}]"
    )
    said = told(shelf, text)
    assert "'max-score' compares the outputs of variants" in said
    assert "'select-best' compares the outputs of variants" in said


def test_what_cases_belong_to_is_one_of_their_inputs(shelf):
    """Read from the defaults; what no case has is told, with the nearest name."""
    cases = "cases: [{name: one, inputs: {document: a}, assert: [{contains: x}]}]"
    shelf.add("greet", eval=f"defaults: {{cluster: document}}\n{cases}\n")
    found = read_eval(shelf.read(), Findings())
    assert found is not None
    assert found.defaults.cluster == "document"
    assert "no case has an input 'documnet'" in told(
        shelf, f"defaults: {{cluster: documnet}}\n{cases}\n"
    )
