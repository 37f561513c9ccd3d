"""docs/settings.md, made from the class: ``python -m growth.cli.settings_page > docs/settings.md``."""

import click

from growth.api.settings.fields import SettingField, setting_fields, worded
from growth.api.settings.loading import SettingsError, read_settings
from growth.cli.settings import render_yaml

_HEAD = """\
# Settings

<!-- Made from src/growth/api/settings/model.py by: python -m growth.cli.settings_page > docs/settings.md -->

Growth runs without any setting. What you want otherwise goes into one YAML file (`--settings FILE`), into a `GROWTH_`
variable or into a flag. A flag wins over a variable, a variable over the file, the file over the default.

    flag  >  environment  >  file  >  default

`growth settings` shows what holds now and who said so. A field that does not exist, or a value that is not possible,
stops the start with exit code 2 and says where it stands, what was expected and which name is the closest:

    {refusal}

Durations are written as in Kubernetes: `300ms`, `90s`, `10m`, `1h30m`.

"""


def render_page() -> str:
    """The whole page."""
    head = _HEAD.replace("{refusal}", _refusal("leaderElection: {leaseDuratoin: 15s}"))
    rows = "\n".join(_row(field) for field in setting_fields())
    file = render_yaml(read_settings())
    return (
        f"{head}| field | default | meaning | variable and flag |\n|---|---|---|---|\n{rows}\n\n"
        f"## The whole file\n\nEvery field with its default, as `growth settings --output yaml` prints it:\n\n"
        f"```yaml\n{file}```\n"
    )


def _row(field: SettingField) -> str:
    default = f"`{worded(field.default, field.nothing)}`" if worded(field.default, field.nothing) else "empty"
    names = f"`{field.variable}`<br>`{field.flag}`"
    return f"| `{field.path}` | {default} | {field.meaning} Expected: {field.expected}. | {names} |"


def _refusal(text: str) -> str:
    """What a reader would see for this file, so that the page cannot promise another sentence."""
    try:
        read_settings(text, file_name="growth.yaml")
    except SettingsError as error:
        return str(error)
    raise AssertionError(f"{text!r} should be refused")


if __name__ == "__main__":
    click.echo(render_page(), nl=False)
