"""``python -m growth`` is ``growth``."""

from growth.cli.main import main

main()
