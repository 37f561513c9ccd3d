"""``growth demo``: it ends by itself, tells what happened, and refuses what makes no sense."""

from click.testing import CliRunner

from growth.cli.main import main


def test_the_demo_ends_by_itself_with_a_summary() -> None:
    result = CliRunner().invoke(main, ["demo", "--speed", "1000"])
    assert result.exit_code == 0, result.output
    assert "a sale begins" in result.output
    assert "evening: three machines are left" in result.output
    assert "The sale went well" in result.output


def test_the_same_seed_tells_the_same_demo() -> None:
    told = [CliRunner().invoke(main, ["demo", "--speed", "1000", "--seed", "7"]).output for _ in range(2)]
    acts = [text[: text.index("The sale went well")] for text in told]
    assert acts[0] == acts[1]


def test_a_real_cluster_has_the_speed_that_it_has() -> None:
    result = CliRunner().invoke(main, ["demo", "--real", "--speed", "3"])
    assert (result.exit_code, result.output) == (
        2,
        "Error: --speed 3 needs the virtual cluster: a real one has the speed that it has\n",
    )
