"""What commands show of a cluster, as values that become tables or JSON."""
