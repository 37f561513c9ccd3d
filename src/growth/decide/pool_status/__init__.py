"""What there is to say about each pool: counts, cost, conditions."""
