"""Reasons why something is not done, and how their values are written."""
