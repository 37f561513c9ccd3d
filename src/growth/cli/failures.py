"""How a command ends when it cannot do what it was asked: one sentence, no traceback, an honest exit code."""

import click


class Refused(click.ClickException):
    """What was given cannot work (a kubeconfig, a name, a server that is not there): exit code 2."""

    exit_code = 2
