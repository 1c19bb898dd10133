"""`genrst parse` with a chart: what is whole, what is demanded, how certain trees are."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from time import sleep

import pytest

from genrst.chart.posterior import Posterior, infer
from genrst.chart.scoring import ScoringContext
from genrst.document import Document, Span
from genrst.formats.files import read, write, write_documents
from genrst.parser.loading import load
from genrst.rendering.colours import render_least_certain
from genrst.rendering.page import render_html
from genrst.rendering.svg import render_svg
from genrst.rendering.terminal import render_text
from genrst.trees.constraints import Constraint
from genrst.trees.node import units
from tests.cli.program import Outcome, call, give_input, on_terminal
from tests.cli.test_parse import as_lists
from tests.parser.samples import write_chart, write_ensemble, write_reading_chart

EDUS = ["It rained", "because of a storm", "and the ferry stopped .", "Nobody was hurt ,", "it rained ."]
WANTED = '{"edus": [1, 4], "relation": "contrast", "nuclearity": "NN"}'
STORM = Document.from_edus("storm", EDUS)

Run = Callable[..., Outcome]


@pytest.fixture(scope="module")
def chart(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_chart(tmp_path_factory.mktemp("models") / "chart")


@pytest.fixture
def run(chart: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Parse with a tiny chart, in a folder with EDUs and texts."""
    monkeypatch.chdir(tmp_path)
    write(STORM, tmp_path / "storm.json")
    (tmp_path / "storm.txt").write_text("\n".join(EDUS), encoding="utf-8")
    return lambda *arguments: call(capsys, "parse", "--model", chart, *arguments)


def test_what_is_whole(run: Run, chart: Path):
    spans = STORM.edus
    storm = replace(STORM, sentences=(Span(spans[0].start, spans[2].end), Span(spans[3].start, spans[4].end)))
    write(storm, Path("known.json"))
    for whole in ("sentences", "nothing"):
        outcome = run("known.json", "--keep-whole", whole, "--json")
        assert (outcome.status, outcome.messages) == (0, [])
        Path(f"{whole}.json").write_text(outcome.output, encoding="utf-8")
        expected = load(chart, keep_whole=whole).parse(storm)
        found = read(f"{whole}.json")
        assert (found.tree, found.log_probability) == (expected.tree, expected.log_probability)
    assert read("sentences.json").log_probability != read("nothing.json").log_probability


def test_how_finely_relations_are_named(run: Run, tmp_path: Path):
    reader = write_reading_chart(tmp_path / "reader")
    for relations in ("fine", "coarse"):
        outcome = run("storm.json", "--model", reader, "--relations", relations, "--json")
        assert (outcome.status, outcome.messages) == (0, [])
        Path(f"{relations}.json").write_text(outcome.output, encoding="utf-8")
        expected = load(reader, relations=relations).parse(STORM)
        assert read(f"{relations}.json").tree == expected.tree
    assert read("fine.json").tree != read("coarse.json").tree


def test_a_contradiction_stops_no_other_document(run: Run):
    bad = replace(STORM, id="bad", constraints=(Constraint(0, 2), Constraint(1, 3)))
    write_documents([bad, STORM], Path("both.jsonl"))
    for options in ((), ("--kbest", "2")):
        outcome = run("both.jsonl", "--format", "jsonl", *options)
        assert outcome.status == 1
        assert len([line for line in outcome.messages if "minimum-risk" not in line]) == 1
        assert "bad: units must not cross" in outcome.messages[0]
        assert '"storm"' in outcome.output


def test_constraints_are_added_to_those_of_a_document(run: Run, chart: Path, monkeypatch: pytest.MonkeyPatch):
    own = Constraint(0, 4, is_unit=False)
    write(replace(STORM, constraints=(own,)), "own.json")
    wanted = [own, Constraint(1, 4, True, "contrast", "NN"), Constraint(2, 4)]
    outcome = run("own.json", "--constraint", WANTED, "--constraint", '{"edus": [2, 4]}', "--output", "out.json")
    assert (outcome.status, outcome.messages) == (0, [])
    found = read("out.json")
    assert list(found.constraints) == wanted
    assert found.tree == load(chart).parse(STORM, wanted).tree
    for arguments in (("storm.txt", "--edus"), ("-", "--edus")):
        give_input(monkeypatch, "\n".join(EDUS).encode())
        data = json.loads(run(*arguments, "--constraint", WANTED, "--json").output)
        assert data["constraints"] == [json.loads(WANTED)]
    best = run("storm.json", "--constraint", WANTED, "--kbest", "2", "--format", "jsonl").output.splitlines()
    assert [json.loads(line)["constraints"] for line in best] == [[json.loads(WANTED)]] * 2


def test_a_document_too_short_for_a_constraint_does_not_stop_the_others(run: Run):
    write_documents([Document.from_edus("short", EDUS[:2]), STORM], "two.jsonl")
    outcome = run("two.jsonl", "--constraint", WANTED, "--format", "jsonl")
    assert (outcome.status, len(outcome.output.splitlines())) == (1, 1)
    assert outcome.messages == [f"genrst: two.jsonl: short: edus must be within the document of 2 EDUs, got {WANTED}"]


def test_the_least_certain_units(run: Run, chart: Path):
    document = as_lists(load(chart).parse(STORM))
    expected = f"{render_text(document)}\n{render_least_certain(document, 2)}"
    assert run("storm.json", "--uncertain", "2").output == expected
    assert expected.count("\n") == len(render_text(document).splitlines()) + 4
    assert run("storm.json", "--uncertain", "2", "--output", "storm.out", "--format", "tree").messages == []
    assert Path("storm.out").read_text(encoding="utf-8") == expected
    blocks = run("storm.json", "--uncertain", "1", "--kbest", "2").output
    assert blocks.count("least probable units:") == 2
    write(Document.from_edus("one", ["Alone ."]), "one.json")
    assert run("one.json", "--uncertain", "2").output == "1 Alone .\n"


def test_colours(run: Run, chart: Path):
    document = as_lists(load(chart).parse(STORM))
    expected = {
        "tree": render_text(document, colours="certainty"),
        "svg": render_svg(document, colours="certainty"),
        "html": render_html(document, colours="certainty"),
    }
    for format, content in expected.items():
        outcome = run("storm.json", "--format", format, "--colours", "certainty")
        assert (outcome.status, outcome.messages, outcome.output) == (0, [], content)
    assert run("storm.json", "--colours", "relation").output == render_text(document)
    shown = on_terminal("parse", "--model", chart, "storm.json", "--colours", "certainty", "--uncertain", "1")
    painted = render_text(document, colour=True, colours="certainty")
    assert shown == f"{painted}\n{render_least_certain(document, 1)}"


def test_flat_trees_keep_probabilities(run: Run):
    assert run("storm.json", "--nary", "--output", "flat.json").messages == []
    tree = read("flat.json").tree
    assert tree is not None
    assert all(unit.probability is not None for unit in units(tree))
    assert run("storm.json", "--nary", "--uncertain", "9", "--colours", "certainty").messages == []


def test_charts_that_choose_together(run: Run, chart: Path, tmp_path: Path):
    both = write_ensemble(tmp_path / "both", {str(chart): 1, str(write_chart(tmp_path / "other", 5)): 1})
    outcome = run("storm.json", "--model", both, "--uncertain", "2", "--constraint", WANTED)
    assert (outcome.status, outcome.messages) == (0, [])
    assert "least probable units:" in outcome.output


RAW = "--constraint needs known EDUs, but this is raw text; use --edus if each line is an EDU"
NO_JSON = '--constraint must be JSON such as {"edus": [1, 4]}, got '
WRONG = [
    (["storm.txt", "--constraint", WANTED], f"storm.txt: {RAW}"),
    (["-", "--constraint", WANTED], f"stdin: {RAW}"),
    (["--constraint", '{"edus": [1, 4}'], NO_JSON + '{"edus": [1, 4}'),
    (["--constraint", ""], NO_JSON.rstrip()),
    (["--constraint", '{"edus": [0, NaN]}'], NO_JSON),
    (["--constraint", "[" * 2000], NO_JSON),
    (["--constraint", "[1, 4]"], "--constraint: a constraint must be an object with the key edus, got [1, 4]"),
    (
        ["--constraint", '{"edus": [4, 1]}'],
        "--constraint: edus must be [start, stop] with 0 <= start < stop, got [4, 1]",
    ),
    (["--uncertain", "0"], "--uncertain must be at least 1 and needs the format tree, got 0 with tree"),
    (["--uncertain", "3", "--json"], "--uncertain must be at least 1 and needs the format tree, got 3 with json"),
    (
        ["--uncertain", "3", "--summary", "2"],
        "--uncertain must be at least 1 and needs the format tree, got 3 with summary",
    ),
    (["--colours", "certainty", "--json"], "--colours needs the format tree, svg, html, png or pdf, got json"),
    (
        ["--colours", "relation", "--summary", "2"],
        "--colours needs the format tree, svg, html, png or pdf, got summary",
    ),
    (["--colours", "mood"], "argument --colours: invalid choice: 'mood'"),
    (["--keep-whole", "pages"], "argument --keep-whole/--whole: invalid choice: 'pages'"),
]


@pytest.mark.parametrize(("options", "message"), WRONG, ids=lambda value: str(value)[:50])
def test_wrong_options_are_one_line(run: Run, options: list[str], message: str):
    outcome = run("storm.json", *options)
    assert (outcome.status, outcome.output, len(outcome.messages)) == (2, "", 1)
    assert outcome.messages[0].startswith("genrst: ")
    assert message in outcome.messages[0]


@pytest.mark.parametrize(
    ("option", "value"),
    [("--uncertain", "3"), ("--colours certainty", "")],
)
def test_other_models_are_refused(run: Run, tiny: Path, option: str, value: str):
    outcome = run("storm.json", "--model", tiny, *filter(None, [*option.split(" "), value]))
    assert (outcome.status, outcome.output) == (2, "")
    assert outcome.messages == [f"genrst: {option} requires a chart parser, got the model {tiny}"]


@pytest.mark.parametrize(("relations", "known"), [("coarse", True), ("fine", True)])
def test_all_names_of_relations_that_constraints_take_are_named(run: Run, tmp_path: Path, relations: str, known: bool):
    reader = write_reading_chart(tmp_path / "reader")
    arguments = ["storm.json", "--model", reader, "--relations", relations, "--constraint"]
    outcome = run(*arguments, '{"edus": [0, 2], "relation": "causal-couse"}')
    assert "causal, causal-cause, causal-result, contrast, " in outcome.messages[0]
    assert outcome.messages[0].endswith("; did you mean causal-cause?") == known
    assert run(*arguments, '{"edus": [0, 2], "relation": "causal-cause"}').status == 0


def test_which_of_the_most_probable_trees_is_printed(run: Run, chart: Path):
    """The tree of minimum risk need not be the most probable one, and --kbest says where it is."""
    alone, trees = load(chart)(STORM), load(chart).kbest(STORM, 200)
    rank = [str(one.tree) for one in trees].index(str(alone.tree)) + 1
    assert rank > 1, "the sample is one where the two differ"
    rest = "is the minimum-risk tree, which genrst parse prints without --kbest"
    assert run("storm.json", "--kbest", "200").messages == [f"genrst: storm: tree {rank} {rest}"]
    few = f"none of the {rank - 1} most probable trees"
    if rank > 2:
        assert run("storm.json", "--kbest", str(rank - 1)).messages == [f"genrst: storm: {few} {rest}"]
    likely = run("storm.json", "--search", "best", "--kbest", "3")
    assert likely.messages == []


def test_a_long_text_says_what_is_under_way(run: Run, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("genrst.io.INTERVAL", 0.02)

    def slowly(context: ScoringContext) -> Posterior:
        sleep(0.1)
        return infer(context)

    monkeypatch.setattr("genrst.chart.finder.infer", slowly)
    outcome = run("storm.json")
    assert "genrst: parsed 0 of 1 file, 0 documents, 0 EDUs; finding the tree for 0 s" in outcome.messages
    assert outcome.status == 0
