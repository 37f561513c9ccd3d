"""The options that every command with settings has: the file, and one flag per setting, made from the class."""

import os
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

import click

from growth.api.settings.fields import SettingField, setting_fields, worded
from growth.api.settings.loading import EffectiveSettings, SettingsError, read_settings

P = ParamSpec("P")
R = TypeVar("R")


class BadSettings(click.ClickException):
    """Settings that nobody can start with: each problem a line, exit code 2."""

    exit_code = 2

    def __init__(self, problems: tuple[str, ...]) -> None:
        super().__init__("\n       ".join(problems))


def with_settings(command: Callable[Concatenate[EffectiveSettings, P], R]) -> Callable[P, R]:
    """Give a click command ``--settings FILE`` and all flags; it receives the effective settings first.

    A flag wins over its GROWTH_ variable, that over the file, that over the default.
    """
    return _with_flags(setting_fields(), command)


def with_settings_of(
    *parts: str,
) -> Callable[[Callable[Concatenate[EffectiveSettings, P], R]], Callable[P, R]]:
    """The same for a command that uses some sections or settings only: it should not show flags that mean nothing to
    it."""
    fields = tuple(
        field
        for field in setting_fields()
        if any(field.path == part or field.path.startswith(f"{part}.") for part in parts)
    )
    return lambda command: _with_flags(fields, command)


def _with_flags(
    fields: tuple[SettingField, ...], command: Callable[Concatenate[EffectiveSettings, P], R]
) -> Callable[P, R]:
    @wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        file: object = kwargs.pop("settings_file")
        given = {field.parameter: kwargs.pop(field.parameter) for field in fields}
        flags = {name: str(value) for name, value in given.items() if value is not None}
        return command(_read(str(file) if file else "", flags), *args, **kwargs)

    wrapped: Callable[P, R] = run
    for field in reversed(fields):  # click shows options in the reverse order of their decorators
        wrapped = _option(field)(wrapped)
    about_file = "YAML file with settings; flags and GROWTH_ variables win over it."
    return click.option("--settings", "settings_file", metavar="FILE", help=about_file)(wrapped)


def _option(field: SettingField) -> Callable[[Callable[P, R]], Callable[P, R]]:
    metavars = {"str": "TEXT", "bool": "BOOLEAN", "int": "NUMBER", "timedelta": "DURATION", "tuple": "TEXT,TEXT"}
    metavar = metavars[field.type.__name__]
    default = f" [default: {worded(field.default, field.nothing)}]" if worded(field.default, field.nothing) else ""
    return click.option(field.flag, field.parameter, metavar=metavar, help=f"{field.meaning}{default}")


def _read(file: str, flags: dict[str, str]) -> EffectiveSettings:
    try:
        return read_settings(_text(file) if file else "", os.environ, flags, file_name=file or "no file")
    except SettingsError as error:
        raise BadSettings(error.problems) from None


def _text(file: str) -> str:
    """The file's text; a file that was named and cannot be read stops the start."""
    try:
        return Path(file).read_text(encoding="utf-8")
    except OSError as error:
        raise BadSettings((f"--settings {file} cannot be read: {error.strerror}; expected a YAML file",)) from None
    except UnicodeDecodeError:
        raise BadSettings((f"--settings {file} is not text: expected a YAML file in UTF-8",)) from None
