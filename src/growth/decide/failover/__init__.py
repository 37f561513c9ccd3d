"""Work moved off machines that are proven dead (docs/failover.md)."""
