"""The project of a folder: relations and guidelines; what is wrong is one line that names the file and the key."""

from pathlib import Path

import pytest

from genrst.errors import ConfigError
from genrst.parser.parser import Parser
from genrst.serve.annotation.files import Files
from genrst.serve.annotation.folder import Folder
from genrst.serve.annotation.project import Project, ProjectRelation, find_project, read_project
from genrst.serve.parsing import Models

EVIDENCE = """
[[relations]]
name = "evidence"
definition = "makes the reader believe the nucleus"
example = "*The ashes are warm:* somebody was here."
[[relations]]
name = "joint"
nuclearity = ["NN"]
"""


def write(folder: Path, text: str) -> Path:
    path = folder / "genrst.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_relations_take_the_place_of_the_labels(tmp_path: Path, chart: Parser):
    project = read_project(write(tmp_path, EVIDENCE))
    before = Models([chart]).description
    (model,) = project.apply(before)["models"]
    texts = {
        "definition": "makes the reader believe the nucleus",
        "example": "*The ashes are warm:* somebody was here.",
    }
    assert model["labels"] == [
        {"relation": "evidence", "nuclearity": "NS", **texts},
        {"relation": "evidence", "nuclearity": "SN", **texts},
        {"relation": "joint", "nuclearity": "NN"},
    ]
    assert model["known"] == before["models"][0]["labels"]
    assert set(model["fine"]) <= {"evidence", "joint"}
    assert Project().apply(before) is before


def test_the_folder_has_it_unless_another_is_named(tmp_path: Path):
    assert find_project(tmp_path) == Project()
    write(tmp_path, EVIDENCE)
    assert [one.name for one in find_project(tmp_path).relations] == ["evidence", "joint"]
    other = tmp_path / "other.toml"
    other.write_text('guidelines = "Read twice."')
    assert find_project(tmp_path, other) == Project("Read twice.")
    with pytest.raises(ConfigError, match=r"missing\.toml: No such file"):
        find_project(tmp_path, tmp_path / "missing.toml")


@pytest.mark.parametrize(
    ("text", "described"),
    [
        ('guidelines = "https://example.org/rules"', {"link": "https://example.org/rules"}),
        ('guidelines = "javascript:alert(1)"', {"text": "javascript:alert(1)"}),
        ('guidelines = "rules.md"', {"text": "# Rules\n\nRead."}),
        ('guidelines = """\nOne\nTwo.md"""', {"text": "One\nTwo.md"}),
        ("", None),
    ],
)
def test_guidelines_are_a_link_a_file_or_a_text(tmp_path: Path, text: str, described: dict[str, str] | None):
    (tmp_path / "rules.md").write_text("# Rules\n\nRead.\n")
    project = read_project(write(tmp_path, text))
    assert Folder(Files(), project).list(10)["guidelines"] == described


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("relatons = []", "relatons: unknown key; must be one of guidelines, relations"),
        (
            "[[relations]]\nname = 'a'\nexmple = 'x'",
            r"relations\[0\]\.exmple: unknown key; must be one of name, nuclearity, ",
        ),
        ("[[relations]]\nname = 3", r"relations\[0\]\.name: the value must be of type str, got 3"),
        (
            "[[relations]]\nname = 'a'\nnuclearity = 'NS'",
            r"relations\[0\]\.nuclearity: the value must be a list, got 'NS'",
        ),
        ("[[relations]]\nname = 'a'\nnuclearity = ['NX']", r"must be one of 'NS', 'SN', 'NN', got 'NX'"),
        ("[[relations]]\nname = 'a'\nnuclearity = []", "must list at least one of"),
        ("[[relations]]\ndefinition = 'x'", r"relations\[0\]\.name: the value must be the name of a relation, got ''"),
        ("[[relations]]\nname = 'span'", "the value must be the name of a relation, got 'span'"),
        (
            "[[relations]]\nname = 'a'\n[[relations]]\nname = 'a'",
            r"relations\[1\]\.name: the relation 'a' is defined twice",
        ),
        ("relations = 3", "relations: the value must be a list, got 3"),
        ("guidelines = ", "invalid TOML"),
        ("guidelines = 'missing.md'", "must exist in the folder of the project, got missing.md"),
        ("guidelines = '../secret.txt'", "must exist in the folder of the project"),
    ],
)
def test_what_is_wrong_is_one_line(tmp_path: Path, text: str, message: str):
    (tmp_path / "secret.txt").write_text("secret")
    folder = tmp_path / "corpus"
    folder.mkdir()
    with pytest.raises(ConfigError, match=message) as error:
        read_project(write(folder, text))
    assert str(error.value).startswith(str(folder / "genrst.toml"))
    assert "\n" not in str(error.value)


def test_the_example_of_the_docs(tmp_path: Path):
    page = (Path(__file__).parents[2] / "docs" / "guides" / "annotation-projects.md").read_text(encoding="utf-8")
    (tmp_path / "guidelines.md").write_text("Read.")
    project = read_project(write(tmp_path, page.partition("```text\n")[2].partition("```")[0]))
    assert project.guidelines == "Read."
    assert [(one.name, one.nuclearity) for one in project.relations] == [("evidence", ("NS", "SN")), ("list", ("NN",))]


def test_a_relation_has_labels_for_each_nuclearity():
    assert ProjectRelation("x", ("NN",)).as_labels() == [{"relation": "x", "nuclearity": "NN"}]
