"""Errors as the API writes them: ``{"error": {"code", "message", "details"}}``, and the HTTP status of each code."""

from typing import Any, Final

from growth_lab.hetzner_sandbox.messages import Answer

STATUS: Final[dict[str, int]] = {
    "json_error": 400,
    "unauthorized": 401,
    "token_readonly": 401,
    "forbidden": 403,
    "maintenance": 403,
    "resource_limit_exceeded": 403,
    "not_found": 404,
    "method_not_allowed": 405,
    "uniqueness_error": 409,
    "conflict": 409,
    "deprecated_api_endpoint": 410,
    "resource_unavailable": 412,
    "primary_ip_version_mismatch": 412,
    "invalid_input": 422,
    "placement_error": 422,
    "service_error": 422,
    "unsupported_error": 422,
    "invalid_server_type": 422,
    "server_not_stopped": 422,
    "already_in_placement_group": 422,
    "no_subnet_available": 422,
    "ip_not_available": 422,
    "server_already_attached": 422,
    "networks_overlap": 422,
    "primary_ip_assigned": 422,
    # The status of these three is a belief; only their codes were seen.
    "placement_group_member_limit_reached": 422,
    "limit_exceeded_error": 422,
    "volume_already_attached": 422,
    "locked": 423,
    "protected": 423,
    "rate_limit_exceeded": 429,
    "server_error": 500,
    "bad_gateway": 502,
    "unavailable": 503,
    "timeout": 504,
}


class Refusal(Exception):
    """The API says no."""

    def __init__(self, code: str, message: str, details: dict[str, Any] | None = None) -> None:
        super().__init__(f"{code}: {message}")
        self.code, self.message, self.details = code, message, details

    @property
    def answer(self) -> Answer:
        """As it goes back."""
        error = {"code": self.code, "message": self.message, "details": self.details}
        return Answer(STATUS[self.code], {"error": error})


def not_found(what: str) -> Refusal:
    """There is no such thing under this address."""
    return Refusal("not_found", f"{what} not found")


def invalid(message: str) -> Refusal:
    """Understood, and not possible: what users report of the API has empty details here."""
    return Refusal("invalid_input", message, {})


def invalid_field(name: str, problem: str) -> Refusal:
    """A field that cannot be read or must not be so."""
    fields = [{"name": name, "messages": [problem]}]
    return Refusal("invalid_input", f"invalid input in field '{name}'", {"fields": fields})


def name_taken(what: str) -> Refusal:
    """Names are unique in a project."""
    return Refusal("uniqueness_error", f"{what} name is already used", {"fields": [{"name": "name"}]})
