"""Drawn worlds, drawn lives, and faults of everything at once: safe all the time, and well soon after they stop.

    python -m tests.trust.chaos --runs 10000 --seed 1       # make chaos
    python -m tests.trust.chaos --replay SEED -v            # one of them again, as a story

``worlds`` draws what there is, ``lives`` what people do, ``troubles`` what goes wrong; ``replicas`` are the Growths to
which it happens, ``calm`` says what must be so in the end, and ``run`` is one run. Everything follows from the seed.
"""
