"""Checks that every provider must pass, on any cloud, with any test runner.

A check is an async function with a sentence for its name. It buys, lists and removes machines through the provider
alone, and raises ``Broken`` with the promise that was not kept. ``docs/providers.md`` shows how to run all of them.

Law of the package: it knows the promise of ``growth.cloud.provider`` and nothing of Kubernetes or of one provider.
"""

from growth_lab.provider_contract.checks import CHECKS, Check, run_check
from growth_lab.provider_contract.harness import Broken, NotTried, Trial, Trouble

__all__ = ["CHECKS", "Broken", "Check", "NotTried", "Trial", "Trouble", "run_check"]
