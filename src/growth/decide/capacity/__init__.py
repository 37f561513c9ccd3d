"""Offerings that may be launched, their history and failures, and what pools hold."""
