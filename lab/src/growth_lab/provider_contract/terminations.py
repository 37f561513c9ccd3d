"""Checks about the end of machines and the proof of it: deletion, power, fencing."""

import asyncio
from datetime import datetime

from growth.api.machine import Power
from growth.cloud.provider import Provider
from growth_lab.provider_contract.harness import Trial, ids_of, require


async def a_deleted_machine_is_gone(trial: Trial, provider: Provider) -> None:
    """It leaves the list, its power is gone, and the other machines stay."""
    gone, stays = [await provider.create(trial.request(trial.name(suffix))) for suffix in ("a", "b")]
    await provider.delete(gone.id)
    await trial.until_gone(provider, gone)
    require((await provider.power(gone.id)).power is Power.GONE, "the power of a deleted machine is gone")
    found = await trial.listed(provider)
    require(ids_of(found) == [stays.id], "only the machine that was meant is deleted", *found)


async def deleting_again_is_no_error(trial: Trial, provider: Provider) -> None:
    """Whoever was interrupted while deleting simply deletes again, and so do two at once."""
    machine = await provider.create(trial.request(trial.name("a")))
    await asyncio.gather(provider.delete(machine.id), provider.delete(machine.id))
    await provider.delete(machine.id)
    await trial.until_gone(provider, machine)
    await provider.delete(machine.id)


async def deleting_what_never_was_is_no_error(trial: Trial, provider: Provider) -> None:
    """The wish, that there be no such machine, is fulfilled; ids of other forms included."""
    machine = await provider.create(trial.request(trial.name("a")))
    for machine_id in (_never(machine.id), "no such machine", "0"):
        await provider.delete(machine_id)
    found = await trial.listed(provider)
    require(ids_of(found) == [machine.id], "no other machine is deleted instead", *found)


async def a_name_may_be_used_again(trial: Trial, provider: Provider) -> None:
    """The new machine is another one: who still means the old one does nothing to it."""
    request = trial.request(trial.name("a"))
    old = await provider.create(request)
    await provider.delete(old.id)
    await trial.until_gone(provider, old)
    new = await provider.create(request)
    require(new.id != old.id, "a machine that has the name later has another id", old, new)
    require(new.provider_id != old.provider_id, "and another providerID", old, new)
    await provider.delete(old.id)
    await provider.fence(old.id)
    require((await provider.power(old.id)).power is Power.GONE, "the old machine stays gone")
    require((await provider.power(new.id)).power in (Power.STARTING, Power.ON), "the new machine is left alone")
    found = await trial.listed(provider)
    require(ids_of(found) == [new.id], "only the new machine is listed", *found)


async def every_reading_says_when(trial: Trial, provider: Provider) -> None:
    """Proof of death depends on it: a reading must not look younger than what the cloud was asked."""
    machine = await provider.create(trial.request(trial.name("a")))
    await trial.wait(trial.poll_seconds)
    before = trial.now()
    reading = await provider.power(machine.id)
    _require_between(before, reading.read_at, trial.now())
    require(reading.machine_id == machine.id, "a reading says of which machine it is", reading)
    before = trial.now()
    found = await trial.listed(provider, machine.name)
    _require_between(before, found[0].read_at, trial.now())
    before = trial.now()
    reading = await provider.fence(machine.id)
    _require_between(before, reading.read_at, trial.now())


async def the_power_of_what_never_was_is_gone(trial: Trial, provider: Provider) -> None:
    """The cloud was asked and has no such machine: that is a fact, and no error."""
    machine = await provider.create(trial.request(trial.name("a")))
    for machine_id in (_never(machine.id), "no such machine"):
        reading = await provider.power(machine_id)
        require(reading.power is Power.GONE, "what never was is gone", reading)
        require(reading.machine_id == machine_id, "a reading names the machine that was asked for", reading)


async def a_fenced_machine_is_off_and_stays_off(trial: Trial, provider: Provider) -> None:
    """It is off when the answer comes, for everybody who asks, and still there, since it still costs money."""
    machine = await provider.create(trial.request(trial.name("a")))
    bystander = await provider.create(trial.request(trial.name("b")))

    async def is_on() -> bool:
        return (await provider.power(machine.id)).power is Power.ON

    await trial.until(is_on, "a new machine gets power")
    for _ in range(2):
        reading = await provider.fence(machine.id)
        require(reading.power is Power.OFF, "a fenced machine is off", reading)
    async with trial.opened() as other:
        for _ in range(3):
            reading = await other.power(machine.id)
            require(reading.power is Power.OFF, "a fenced machine stays off", reading)
            await trial.wait(trial.poll_seconds)
        found = await trial.listed(other, machine.name)
        require([one.power for one in found] == [Power.OFF], "a fenced machine is listed as off", *found)
        others = await other.power(bystander.id)
        require(others.power is not Power.OFF, "nobody else is fenced", others)


async def a_purchase_does_not_undo_a_fence(trial: Trial, provider: Provider) -> None:
    """Its name is taken: whoever asks for it gets it as it is, without power."""
    request = trial.request(trial.name("a"))
    machine = await provider.create(request)
    await provider.fence(machine.id)
    again = await provider.create(request)
    require((again.id, again.power) == (machine.id, Power.OFF), "a purchase that is repeated gives no power", again)
    await provider.delete(machine.id)
    await trial.until_gone(provider, machine)


async def fencing_what_never_was_is_no_error(trial: Trial, provider: Provider) -> None:
    """There is nothing that could still write to a disk, which is all that fencing is for."""
    machine = await provider.create(trial.request(trial.name("a")))
    reading = await provider.fence(_never(machine.id))
    require(reading.power is Power.GONE, "what never was is gone", reading)
    require((await provider.power(machine.id)).power is not Power.OFF, "no other machine is fenced instead")


def _never(machine_id: str) -> str:
    """An id that looks like this one, and is not: digits are changed, so that a number stays one."""
    return "".join("7" if letter in "01234568" else "1" if letter.isdecimal() else letter for letter in machine_id)


def _require_between(before: datetime, read_at: datetime, after: datetime) -> None:
    require(read_at.tzinfo, "an instant says in which time zone it is", read_at)
    promise = "a reading is of an instant between question and answer"
    require(before <= read_at <= after, promise, before, read_at, after)
