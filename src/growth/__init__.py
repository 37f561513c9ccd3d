"""Growth: a node autoscaler for Kubernetes.

The packages, and the one direction in which they import each other, are drawn in docs/architecture.md; each package's
law stands in its own ``__init__`` and is enforced by import-linter (``make check``).
"""

from typing import Final

__version__: Final = "0.1.0"
