"""Actions carried out: each becomes one call to the API server or to a provider.

Law of the package: it never decides. An action is done as it stands or not at all, with the uid and version it was
decided on, behind the leader's fence, and every side effect passes a named point (``effect_hooks``), where tests may
stop the world.
"""
