"""From a file's text, the environment and the flags to Settings, and where each value came from.

A flag wins over a variable, a variable over the file, the file over the default. Bad input is never half accepted: all
that is wrong is told at once, each with the field, the value, what was expected and the closest name that exists.
"""

import difflib
from collections.abc import Iterator, Mapping
from typing import Any, Literal, cast

import msgspec
import yaml
from msgspec import inspect

from growth.api.settings.extensions import installed_sections
from growth.api.settings.fields import PREFIX, BadItem, SettingField, Value, plain, setting_fields
from growth.api.settings.model import Section, Settings

Origin = Literal["default", "file", "environment", "flag"]

# A variable that is almost one of ours is a slip of the pen. Others are left alone: for a Service called growth,
# Kubernetes sets GROWTH_SERVICE_HOST and its kin in every container.
_ALMOST = 0.9
_LIKELY = 0.6


class SettingsError(ValueError):
    """Settings that Growth must not start with; one sentence per problem."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = tuple(problems)


class EffectiveSetting(msgspec.Struct, frozen=True):
    """One setting as it holds now."""

    field: SettingField
    value: Value
    origin: Origin


class EffectiveSettings(msgspec.Struct, frozen=True):
    """The settings and, field by field, where they came from."""

    settings: Settings
    fields: tuple[EffectiveSetting, ...]


def read_settings(
    text: str = "",
    environment: Mapping[str, str] | None = None,
    flags: Mapping[str, str] | None = None,
    *,
    file_name: str = "the settings file",
) -> EffectiveSettings:
    """Read and check everything; ``flags`` are keyed by the field's Python name. Raises SettingsError."""
    problems: list[str] = []
    environment, flags = environment or {}, flags or {}
    in_file = dict(_flat(_document(text, file_name), "", file_name, problems))
    _refuse_slips(environment, problems)
    fields: list[EffectiveSetting] = []
    for field in setting_fields():
        origin, source, raw = _source(field, in_file, environment, flags, file_name)
        try:
            match origin:
                case "default":
                    value = field.default
                case "file":
                    value = field.value_from(raw)
                case _:
                    value = field.value_from_text(str(raw))
        except BadItem as error:
            problems.append(_problem(f"{field.path}[{error.number}]", error.item, field.expected, source))
            continue
        except ValueError:
            problems.append(_problem(field.path, raw, field.expected, source))
            continue
        fields.append(EffectiveSetting(field, value, origin))
    if problems:
        raise SettingsError(problems)
    settings = _settings({effective.field.path: effective.value for effective in fields})
    problems.extend(_contradictions(settings, "", fields, file_name))
    if problems:
        raise SettingsError(problems)
    return EffectiveSettings(settings, tuple(fields))


def _document(text: str, file_name: str) -> dict[object, object]:
    try:
        document: object = yaml.safe_load(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f" in line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        what = getattr(error, "problem", None) or str(error)
        raise SettingsError([f"{file_name} is not YAML{where}: {what}"]) from error
    if document is None:
        return {}
    if not isinstance(document, dict):
        raise SettingsError([f"{file_name} holds {_shown(document)}: expected fields such as namespace: growth-system"])
    return cast("dict[object, object]", document)


def _flat(
    section: Mapping[object, object], prefix: str, file_name: str, problems: list[str]
) -> Iterator[tuple[str, object]]:
    """The file's values by path; what has no value is left to its default, what has no meaning becomes a problem."""
    known = {field.path: field for field in setting_fields()}
    sections = _sections()
    for name, value in section.items():
        path = f"{prefix}{name}"
        if path in known:
            if value is not None or isinstance(known[path].shape, inspect.UnionType):
                yield path, value
        elif path not in sections:
            problems.append(
                f"{path}: {_shown(value)} has no meaning: there is no such setting{_closest(path)} ({file_name})"
            )
        elif isinstance(value, dict):
            yield from _flat(cast("dict[object, object]", value), f"{path}.", file_name, problems)
        elif value is not None:
            inside = ", ".join(known_path for known_path in sorted(known) if known_path.startswith(f"{path}."))
            problems.append(_problem(path, value, f"fields inside it ({inside})", file_name))


def _source(
    field: SettingField,
    in_file: Mapping[str, object],
    environment: Mapping[str, str],
    flags: Mapping[str, str],
    file_name: str,
) -> tuple[Origin, str, object]:
    """Who decides this field, in words, and what was said."""
    if field.parameter in flags:
        return "flag", field.flag, flags[field.parameter]
    if field.variable in environment:
        return "environment", f"environment variable {field.variable}", environment[field.variable]
    if field.path in in_file:
        return "file", file_name, in_file[field.path]
    return "default", "default", field.default


def _refuse_slips(environment: Mapping[str, str], problems: list[str]) -> None:
    known = [field.variable for field in setting_fields()]
    for variable in sorted(environment):
        if variable.startswith(f"{PREFIX}_") and variable not in known:
            almost = difflib.get_close_matches(variable, known, 1, _ALMOST)
            if almost:
                problems.append(
                    f"{variable}: {environment[variable]!r} has no meaning: there is no such setting, the closest is "
                    f"{almost[0]} (environment)"
                )


def _settings(values: Mapping[str, Value]) -> Settings:
    """The class from flat values."""
    document: dict[str, Any] = {}
    for path, value in values.items():
        *sections, name = path.split(".")
        inner = document
        for section in sections:
            inner = inner.setdefault(section, {})
        inner[name] = value
    others = {name: msgspec.convert(document.pop(name, {}), section) for name, section in installed_sections()}
    return msgspec.structs.replace(msgspec.convert(document, Settings), extensions=others)


def _contradictions(section: Section, prefix: str, fields: list[EffectiveSetting], file_name: str) -> Iterator[str]:
    by_path = {effective.field.path: effective for effective in fields}
    for name, expected in section.contradictions():
        effective = by_path[f"{prefix}{name}"]
        origin = file_name if effective.origin == "file" else effective.origin
        yield _problem(effective.field.path, plain(effective.value, effective.field.nothing), expected, origin)
    for field in msgspec.structs.fields(section):
        inner = getattr(section, field.name)
        if isinstance(inner, Section):
            yield from _contradictions(inner, f"{prefix}{field.encode_name}.", fields, file_name)
    for name, extension in section.extensions.items() if isinstance(section, Settings) else ():
        yield from _contradictions(extension, f"{name}.", fields, file_name)


def _problem(path: str, raw: object, expected: str, source: str) -> str:
    return f"{path}: {_shown(raw)} is not possible: expected {expected} ({source})"


def _sections() -> set[str]:
    return {field.path.rpartition(".")[0] for field in setting_fields()} - {""}


def _closest(path: str) -> str:
    """The name that was probably meant: alike as a whole, or right by itself and in the wrong place."""
    names = [*(field.path for field in setting_fields()), *sorted(_sections())]
    score, name = max((max(_likeness(path, name), _likeness(_last(path), _last(name))), name) for name in names)
    return f", the closest is {name}" if score >= _LIKELY else ""


def _likeness(left: str, right: str) -> float:
    return difflib.SequenceMatcher(None, left.lower(), right.lower()).ratio()


def _last(path: str) -> str:
    return path.rpartition(".")[2]


def _shown(raw: object) -> str:
    text = repr(raw)
    return text if len(text) <= 60 else f"{text[:57]}..."
