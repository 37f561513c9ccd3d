"""The ``growth`` command: one line per subcommand, nothing else."""

import click

from growth import __version__
from growth.cli.cluster import cluster
from growth.cli.crds import crds
from growth.cli.demo import demo
from growth.cli.doctor import doctor
from growth.cli.drain import drain
from growth.cli.explain import explain
from growth.cli.hetzner_sandbox import hetzner_sandbox
from growth.cli.manifests import manifests
from growth.cli.memory import memory
from growth.cli.node import node
from growth.cli.plan import plan
from growth.cli.queue import queue
from growth.cli.request import request
from growth.cli.run import run
from growth.cli.settings import settings
from growth.cli.status import status
from growth.cli.top import top
from growth.cli.world import world


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="growth")
def main() -> None:
    """Keep a Kubernetes cluster the right size and its nodes trustworthy."""


main.add_command(cluster)
main.add_command(crds)
main.add_command(demo)
main.add_command(doctor)
main.add_command(drain)
main.add_command(explain)
main.add_command(hetzner_sandbox)
main.add_command(manifests)
main.add_command(memory)
main.add_command(node)
main.add_command(plan)
main.add_command(queue)
main.add_command(request)
main.add_command(run)
main.add_command(settings)
main.add_command(status)
main.add_command(top)
main.add_command(world)
