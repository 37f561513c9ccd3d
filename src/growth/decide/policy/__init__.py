"""What a NodePool's spec says about disruption: budgets, schedules in their time zone, terms."""
