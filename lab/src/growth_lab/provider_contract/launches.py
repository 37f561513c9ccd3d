"""Checks about offers and purchases: what is sold, and that one name is one machine."""

import asyncio
import math

import msgspec

from growth.api.labels import is_label_value
from growth.api.machine import Power
from growth.api.quantity import QuantityError, parse
from growth.cloud.errors import Invalid
from growth.cloud.provider import Provider
from growth_lab.provider_contract.harness import Broken, Trial, ids_of, require

_NO_HOSTNAMES = ("", "UPPER", "under_score", "dot.ted", "-dash", "dash-", "x" * 64, "white space")


async def what_is_sold_can_be_planned_with(_: Trial, provider: Provider) -> None:
    """Offerings have ids of their own that fit a label, prices that can be compared, amounts that can be read."""
    offerings = await provider.offerings()
    require(offerings, "a provider sells something")
    ids = [offering.id for offering in offerings]
    require(len(set(ids)) == len(ids), "no two offerings have the same id", *ids)
    for offering in offerings:
        require(offering.id.startswith(f"{provider.name}-"), "an offering's id begins with the provider", offering.id)
        require(offering.provider == provider.name, "an offering names its provider", offering)
        require(is_label_value(offering.id), "an offering's id fits into a label", offering.id)
        require(0 <= offering.price_per_hour < math.inf, "a price is a number from zero on", offering)
        require(offering.stock is None or offering.stock >= 0, "stock is unknown or a number from zero on", offering)
        require({"cpu", "memory"} <= offering.resources.keys(), "an offering says its CPU and memory", offering)
        for amount in (*offering.resources.values(), *offering.reserved.values()):
            try:
                parse(amount)
            except QuantityError as error:
                raise Broken(f"amounts of {offering.id} are quantities; found {amount!r}") from error


async def a_machine_that_was_made_is_listed_as_what_it_is(trial: Trial, provider: Provider) -> None:
    """Name, offering, pool and ids are the same in the answer and in the list, and say what was asked for."""
    request = trial.request(trial.name("a"))
    machine = await provider.create(request)
    require(machine.name == request.name, "a machine has the name that was asked for", machine)
    require(machine.offering == request.offering.id, "a machine says of which offering it is", machine)
    require(machine.pool == request.pool, "a machine says for which pool it is", machine)
    require(machine.id, "a machine has an id", machine)
    require("://" in machine.provider_id, "a providerID begins with a scheme", machine.provider_id)
    found = await trial.listed(provider, request.name)
    require(ids_of(found) == [machine.id], "a machine that was made is listed, once", *found)
    for field in ("provider_id", "name", "offering", "pool", "created_at"):
        told, listed = getattr(machine, field), getattr(found[0], field)
        require(told == listed, f"the list gives the {field} that the purchase gave", told, listed)


async def what_was_not_bought_is_not_listed(trial: Trial, provider: Provider) -> None:
    """Nothing there is an empty list, which is an answer and no error."""
    found = await trial.listed(provider)
    require(not found, "nothing was bought yet", *found)


async def the_same_name_twice_is_one_machine(trial: Trial, provider: Provider) -> None:
    """Asked again, a provider hands out the machine that is there."""
    request = trial.request(trial.name("a"))
    first, second = await provider.create(request), await provider.create(request)
    require(first.id == second.id, "the same name twice is one machine", first, second)
    found = await trial.listed(provider)
    require(ids_of(found) == [first.id], "the same name twice is bought once", *found)


async def the_same_name_from_many_at_once_is_one_machine(trial: Trial, provider: Provider) -> None:
    """Two leaders, or one that was paused and one that took over, cannot buy twice."""
    request = trial.request(trial.name("a"))
    async with trial.opened() as other:
        machines = await asyncio.gather(*(who.create(request) for who in (provider, other) * 3))
    require(len({machine.id for machine in machines}) == 1, "one name is one machine for all who ask", *machines)
    found = await trial.listed(provider)
    require(ids_of(found) == [machines[0].id], "what many asked for at once is bought once", *found)


async def the_same_name_after_a_crash_is_the_same_machine(trial: Trial, provider: Provider) -> None:
    """What a provider knows, it knows from the cloud: another process gets the same answers."""
    request = trial.request(trial.name("a"))
    before = await provider.create(request)
    async with trial.opened() as again:
        after = await again.create(request)
        require(after.id == before.id, "a purchase that is repeated after a crash finds itself", before, after)
        found = await trial.listed(again)
        require(ids_of(found) == [before.id], "another process lists the same machines", *found)


async def a_name_is_never_given_to_another_kind_of_machine(trial: Trial, provider: Provider) -> None:
    """Whoever asks under a taken name for something else is told, and nothing changes."""
    name = trial.name("a")
    machine = await provider.create(trial.request(name))
    for request in (trial.other_request(name), msgspec.structs.replace(trial.request(name), pool="another-pool")):
        try:
            wrong = await provider.create(request)
        except Invalid:
            continue
        raise Broken(f"a taken name is refused for another offering or pool; found {wrong!r}")
    found = await trial.listed(provider)
    require([(one.id, one.offering) for one in found] == [(machine.id, machine.offering)], "it stays as it is", *found)


async def machines_of_two_names_are_two(trial: Trial, provider: Provider) -> None:
    """Different ids, different providerIDs, both listed."""
    one, two = [await provider.create(trial.request(trial.name(suffix))) for suffix in ("a", "b")]
    require(one.id != two.id, "two machines have two ids", one, two)
    require(one.provider_id != two.provider_id, "two machines have two providerIDs", one, two)
    found = await trial.listed(provider)
    require(ids_of(found) == ids_of([one, two]), "both are listed", *found)


async def a_name_that_is_no_hostname_is_refused(trial: Trial, provider: Provider) -> None:
    """The name becomes a node's, so it must be one; a cloud that would cut or change it makes a node nobody finds."""
    before = ids_of(await provider.list())
    for name in _NO_HOSTNAMES:
        try:
            wrong = await provider.create(trial.request(name))
        except Invalid as error:
            require(repr(name) in str(error), "the sentence names the name that was refused", str(error))
            continue
        raise Broken(f"no machine can be named {name!r}; found {wrong!r}")
    require(ids_of(await provider.list()) == before, "what is refused is not bought")


async def the_longest_name_is_kept(trial: Trial, provider: Provider) -> None:
    """63 characters are a hostname, and all of them count."""
    names = [trial.name("").ljust(62, "x") + last for last in "ab"]
    for name in names:
        machine = await provider.create(trial.request(name))
        require(machine.name == name, "a name is kept to its last character", machine)
    found = [machine.name for machine in await trial.listed(provider)]
    require(sorted(found) == names, "names that differ in the last character are two", *found)


async def what_is_not_sold_is_refused(trial: Trial, provider: Provider) -> None:
    """An offering that does not exist can never be had; waiting for stock would be for nothing."""
    request = trial.request(trial.name("a"))
    offering = msgspec.structs.replace(request.offering, id=f"{provider.name}-no-such", server_type="no-such")
    try:
        wrong = await provider.create(msgspec.structs.replace(request, offering=offering))
    except Invalid as error:
        require("no-such" in str(error), "the sentence names what is not sold", str(error))
    else:
        raise Broken(f"what is not sold is refused; found {wrong!r}")
    require(not await trial.listed(provider), "what is refused is not bought")


async def a_new_machine_gets_power(trial: Trial, provider: Provider) -> None:
    """It may be starting for a while; then it is on, in the list and for who asks for it alone."""
    machine = await provider.create(trial.request(trial.name("a")))
    require(machine.power in (Power.STARTING, Power.ON), "a new machine is starting or on", machine)

    async def is_on() -> bool:
        return (await provider.power(machine.id)).power is Power.ON

    await trial.until(is_on, "a new machine gets power")
    found = await trial.listed(provider, machine.name)
    require([one.power for one in found] == [Power.ON], "the list says so, too", *found)
