"""kubectl for what it does best: read any manifest, find out where its kinds are served, and apply it."""

import asyncio
import os
from collections.abc import Mapping
from pathlib import Path

from growth_lab.local_cluster.errors import KubectlFailed
from growth_lab.local_cluster.layout import Layout


class Kubectl:
    """kubectl as the cluster's administrator; its discovery cache lives and dies with the cluster."""

    def __init__(self, binary: Path, layout: Layout) -> None:
        self._command = (str(binary), f"--kubeconfig={layout.kubeconfig}", f"--cache-dir={layout.home}/kubectl")
        self._environment: Mapping[str, str] = {"HOME": str(layout.home), "PATH": os.environ.get("PATH", "")}

    async def __call__(self, *arguments: str, text: str = "") -> str:
        """Run it with ``text`` on its standard input and return what it printed."""
        child = await asyncio.create_subprocess_exec(
            *self._command,
            *arguments,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=self._environment,
        )
        try:
            output, errors = await child.communicate(text.encode())
        except BaseException:
            if child.returncode is None:
                child.kill()
                await child.wait()
            raise
        if child.returncode:
            raise KubectlFailed(f"kubectl {' '.join(arguments)}: {errors.decode().strip()}")
        return output.decode()
