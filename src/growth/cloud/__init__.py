"""The one door to machines.

Law of the room: whatever makes, finds, cuts off or removes machines stands behind the ``Provider`` of
``cloud.provider`` and passes ``growth_lab.provider_contract``. A provider decides nothing, and what it does not know it
never calls empty.
"""
