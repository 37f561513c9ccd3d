"""Growth: a node autoscaler for Kubernetes.

The rooms and the one direction in which they lean on each other are drawn in docs/architecture.md; each room's law
stands in its own ``__init__`` and is enforced by import-linter (``make check``).
"""

from typing import Final

__version__: Final = "0.1.0"
