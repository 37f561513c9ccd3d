"""``growth settings``, the flags that every command gets, and the page made from the same class."""

import json
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from growth.api.settings.fields import setting_fields
from growth.api.settings.loading import EffectiveSettings, read_settings
from growth.api.settings.model import Settings
from growth.cli.settings import render_json, render_table, render_yaml, settings
from growth.cli.settings_options import with_settings
from growth.cli.settings_page import render_page
from tests.repository import ROOT

PAGE = ROOT / "docs" / "settings.md"

TABLE_80 = """\
FIELD                         VALUE              FROM         MEANING
namespace                     growth-system      default      Namespace in which
                                                              Growth keeps its
                                                              own objects.
kube.kubeconfig               -                  default      Path of the
"""
TABLE_120 = """\
FIELD                         VALUE                                  FROM         MEANING
namespace                     growth-system                          default      Namespace in which Growth keeps its
                                                                                  own objects.
kube.kubeconfig               -                                      default      Path of the kubeconfig; empty means
                                                                                  $KUBECONFIG, then the service account,
                                                                                  then ~/.kube/config.
"""


@pytest.mark.parametrize(("width", "table"), [(80, TABLE_80), (120, TABLE_120)], ids=["80 columns", "120 columns"])
def test_the_table_shows_field_value_origin_and_meaning(width: int, table: str) -> None:
    drawn = render_table(read_settings("", {"GROWTH_LEADER_ELECTION_LEASE_NAME": "other"}), width)
    assert drawn.startswith(table)
    assert max(map(len, drawn.splitlines())) <= width
    assert all(field.path.rpartition(".")[2] in drawn for field in setting_fields())


def test_the_yaml_is_a_settings_file_that_says_the_same() -> None:
    effective = read_settings("namespace: other\nleaderElection: {leaseDuration: 1h30m}\n")
    assert read_settings(render_yaml(effective)).settings == effective.settings


def test_the_json_has_a_row_for_every_field() -> None:
    rows = json.loads(render_json(read_settings("", {}, {"namespace": "other"})))
    assert [row["field"] for row in rows] == [field.path for field in setting_fields()]
    assert (rows[0]["value"], rows[0]["from"], rows[0]["flag"]) == ("other", "flag", "--namespace")


def test_the_command_reads_file_environment_and_flags(tmp_path: Path) -> None:
    file = tmp_path / "growth.yaml"
    file.write_text("namespace: from-file\nkube: {context: from-file}\n")
    arguments = ["--settings", str(file), "--max-concurrent-requests", "7", "--output", "json"]
    result = CliRunner().invoke(settings, arguments, env={"GROWTH_CONTEXT": "from-environment"})
    assert result.exit_code == 0
    values = {row["field"]: (row["value"], row["from"]) for row in json.loads(result.output)}
    assert values["namespace"] == ("from-file", "file")
    assert values["kube.context"] == ("from-environment", "environment")
    assert values["kube.maxConcurrentRequests"] == (7, "flag")


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (None, "cannot be read: No such file or directory; expected a YAML file"),
        (b"\xff\xfe", "is not text: expected a YAML file in UTF-8"),
        (b"namspace: a", "namspace: 'a' has no meaning: there is no such setting, the closest is namespace"),
    ],
    ids=["missing", "binary", "misspelled"],
)
def test_a_bad_file_ends_with_a_sentence_and_exit_code_2(tmp_path: Path, content: bytes | None, sentence: str) -> None:
    file = tmp_path / "growth.yaml"
    if content is not None:
        file.write_bytes(content)
    result = CliRunner().invoke(settings, ["--settings", str(file)])
    assert result.exit_code == 2
    assert sentence in result.output
    assert "Traceback" not in result.output


def test_any_command_gets_the_settings_with_one_decorator() -> None:
    seen: list[Settings] = []

    @click.command()
    @with_settings
    @click.argument("name")
    def greet(effective: EffectiveSettings, name: str) -> None:
        seen.append(effective.settings)
        click.echo(name)

    result = CliRunner().invoke(greet, ["world", "--leader-election-lease-duration", "1m"])
    assert (result.exit_code, result.output) == (0, "world\n")
    assert seen[0] == read_settings("leaderElection: {leaseDuration: 60s}").settings


def test_every_setting_is_a_flag_in_the_help() -> None:
    shown = CliRunner().invoke(settings, ["--help"]).output
    assert all(field.flag in shown for field in setting_fields())


def test_the_page_is_made_from_the_class() -> None:
    renew = "docs/settings.md is stale; renew it: python -m growth.cli.settings_page > docs/settings.md"
    assert PAGE.read_text() == render_page(), renew
