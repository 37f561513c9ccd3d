"""What people are shown of a cluster, as values: commands print them as tables or as JSON."""
