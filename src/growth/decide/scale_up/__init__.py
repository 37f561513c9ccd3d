"""From pending pods to NodeRequests: demand, pool selection, plan.

Law of the package: it writes NodeRequests and says on pods why they wait; it never asks a provider for anything.
"""
