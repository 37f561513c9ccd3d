"""What there is and what can be launched: offerings, their history and failures, what pools hold."""
