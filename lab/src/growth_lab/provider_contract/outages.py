"""Checks about a cloud in trouble: each is told by its own error, and nothing is called empty or bought twice."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress

from growth.api.machine import MachineRequest
from growth.cloud.errors import OutOfStock, ProviderError, QuotaExceeded, RateLimited, Unauthorized, Unavailable
from growth.cloud.provider import Provider
from growth_lab.provider_contract.harness import Broken, Trial, Trouble, ids_of, require


async def what_cannot_be_known_is_never_called_empty(trial: Trial, provider: Provider) -> None:
    """In an outage every question is answered by Unavailable; after it, all is as it was."""
    machine = await provider.create(trial.request(trial.name("a")))
    async with trial.trouble(Trouble.OUTAGE):
        for what, ask in _questions(provider, trial.request(trial.name("b")), machine.id):
            await _refused(ask, what, Unavailable)
        with suppress(Unavailable):  # what is sold may come from a file, or be remembered
            require(await provider.offerings(), "an outage is never told as nothing being sold")
    found = await trial.listed(provider)
    require(ids_of(found) == [machine.id], "after an outage all is as it was", *found)


async def refused_credentials_are_told_as_such(trial: Trial, provider: Provider) -> None:
    """A person must help; waiting would be for nothing."""
    machine = await provider.create(trial.request(trial.name("a")))
    async with trial.trouble(Trouble.UNAUTHORIZED):
        for what, ask in _questions(provider, trial.request(trial.name("b")), machine.id):
            await _refused(ask, what, Unauthorized)
    found = await trial.listed(provider)
    require(ids_of(found) == [machine.id], "what is refused is not done", *found)


async def asking_too_often_is_told_with_the_time_to_wait(trial: Trial, provider: Provider) -> None:
    """Nothing is done, and who asks knows when to ask again."""
    machine = await provider.create(trial.request(trial.name("a")))
    async with trial.trouble(Trouble.RATE_LIMITED):
        for what, ask in _questions(provider, trial.request(trial.name("b")), machine.id):
            error = await _refused(ask, what, RateLimited)
            if isinstance(error, RateLimited):
                require(error.retry_after > 0, "the time to wait is said", error.retry_after)
    found = await trial.listed(provider)
    require(ids_of(found) == [machine.id], "what is refused is not done", *found)


async def what_is_sold_out_is_told_by_name(trial: Trial, provider: Provider) -> None:
    """Nothing is bought, another offering may be tried, and what was bought before stays ours."""
    launched, wanted = trial.request(trial.name("a")), trial.request(trial.name("b"))
    machine = await provider.create(launched)
    async with trial.trouble(Trouble.OUT_OF_STOCK):
        error = await _refused(lambda: provider.create(wanted), "create", OutOfStock)
        if isinstance(error, OutOfStock):
            require(error.offering == wanted.offering.id, "the error names the offering", error.offering)
        again = await provider.create(launched)
        require(again.id == machine.id, "a purchase that was made before is found although nothing is left", again)
        found = await trial.listed(provider)
        require(ids_of(found) == [machine.id], "what is sold out is not bought", *found)
    await provider.create(wanted)


async def an_exhausted_account_is_told_as_such(trial: Trial, provider: Provider) -> None:
    """Trying another offering would be for nothing; what was bought before stays ours."""
    launched, wanted = trial.request(trial.name("a")), trial.request(trial.name("b"))
    machine = await provider.create(launched)
    async with trial.trouble(Trouble.QUOTA_EXCEEDED):
        await _refused(lambda: provider.create(wanted), "create", QuotaExceeded)
        again = await provider.create(launched)
        require(again.id == machine.id, "a purchase that was made before is found although no more are allowed", again)
        found = await trial.listed(provider)
        require(ids_of(found) == [machine.id], "what is not allowed is not bought", *found)
    await provider.create(wanted)


async def a_purchase_whose_answer_was_lost_finds_itself(trial: Trial, provider: Provider) -> None:
    """The error says that it may have been done; the list shows it, and asking again gives the same machine."""
    request = trial.request(trial.name("a"))
    async with trial.trouble(Trouble.LOST_ANSWER):
        error = await _refused(lambda: provider.create(request), "create", Unavailable)
        if isinstance(error, Unavailable):
            require(error.may_have_acted, "the error says that it may have been done")
    found = await trial.listed(provider, request.name)
    require(len(found) == 1, "what was made without an answer is listed", *found)
    again = await provider.create(request)
    require(again.id == found[0].id, "asked again, a provider hands out what is there", again, *found)
    require(ids_of(await trial.listed(provider)) == [again.id], "and buys no second one")


async def a_deletion_whose_answer_was_lost_is_repeated(trial: Trial, provider: Provider) -> None:
    """Whoever does not know whether it was done does it again."""
    machine = await provider.create(trial.request(trial.name("a")))
    async with trial.trouble(Trouble.LOST_ANSWER):
        await _refused(lambda: provider.delete(machine.id), "delete", Unavailable)
    await provider.delete(machine.id)
    await trial.until_gone(provider, machine)


async def a_purchase_may_be_stopped_anywhere(trial: Trial, provider: Provider) -> None:
    """Wherever it is cancelled, there is nothing or one machine that is listed, and asking again leads to one."""
    clock = asyncio.get_running_loop().time
    began = clock()
    machine = await provider.create(trial.request(trial.name("measured")))
    duration = clock() - began
    before = ids_of(await provider.list())
    for number in range(trial.interruptions):
        # A cloud in the same process is stopped between two steps of the loop, one behind a network after some time.
        await _bought_in_spite_of(trial, provider, trial.name(f"step-{number}"), before, steps=number)
        seconds = duration * number / trial.interruptions
        await _bought_in_spite_of(trial, provider, trial.name(f"time-{number}"), before, seconds=seconds)
    require(machine.id in ids_of(await provider.list()), "nobody else is harmed", machine)


async def _bought_in_spite_of(
    trial: Trial, provider: Provider, name: str, before: Sequence[str], *, steps: int = 0, seconds: float = 0.0
) -> None:
    """Buy, stop in between, buy again, and give it back."""
    request = trial.request(name)
    launching = asyncio.ensure_future(provider.create(request))
    for _ in range(steps):
        await asyncio.sleep(0)
    await asyncio.sleep(seconds)
    launching.cancel()
    await asyncio.gather(launching, return_exceptions=True)
    found = [machine for machine in await provider.list() if machine.id not in before]
    require(len(found) <= 1, "a purchase that was stopped has bought one machine at most", *found)
    require(all(one.name == name for one in found), "and it can be found by its name", *found)
    machine = await provider.create(request)
    require(not found or found[0].id == machine.id, "asked again, it finds what is there", machine, *found)
    found = [one for one in await provider.list() if one.id not in before]
    require(ids_of(found) == [machine.id], "a purchase that is stopped and repeated buys one machine", *found)
    await provider.delete(machine.id)
    await trial.until_gone(provider, machine)


_Question = Callable[[], Awaitable[object]]


def _questions(provider: Provider, request: MachineRequest, machine_id: str) -> Sequence[tuple[str, _Question]]:
    """All that must be asked of the cloud. What is sold may come from a file and is left out."""
    return (
        ("list", provider.list),
        ("create", lambda: provider.create(request)),
        ("delete", lambda: provider.delete(machine_id)),
        ("power", lambda: provider.power(machine_id)),
        ("fence", lambda: provider.fence(machine_id)),
    )


async def _refused(ask: _Question, what: str, expected: type[ProviderError]) -> ProviderError:
    try:
        answer = await ask()
    except ProviderError as error:
        require(isinstance(error, expected), f"{what} is answered by {expected.__name__}", error)
        require(str(error), "an error has a sentence", error)
        return error
    except Exception as error:
        raise Broken(f"{what} raises nothing but a ProviderError; found {error!r}") from error
    raise Broken(f"{what} is answered by {expected.__name__}; found the answer {answer!r}")
