"""Providers: the interface to machines, and its plug-ins.

Law of the package: whatever makes, finds, cuts off or removes machines stands behind the ``Provider`` of
``cloud.provider`` and passes ``growth_lab.provider_contract``. A provider decides nothing, and what it does not know it
never calls empty.
"""
