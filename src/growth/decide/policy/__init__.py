"""A NodePool's terms of disruption: budgets, schedules in their time zone, deadlines."""
