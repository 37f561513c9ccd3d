"""The process: informers, the reconcile loop, health and metrics, wired together.

Law of the package: it owns the tasks and their order of start and end, and nothing else. What is decided is decided in
``decide``, what is said to servers is said by the doors.
"""
