"""Watches: from where, which objects, and how they end."""

from lab.tests.simulator.api.scripts.player import Script, delete, get, merge, post, watch
from lab.tests.simulator.api.scripts.reading import MAPS, OURS, a_map

FROM_FIRST = ("resourceVersion", "{0:metadata.resourceVersion}")
BOOKMARKS = ("allowWatchBookmarks", "true")
STREAMED = (("sendInitialEvents", "true"), ("resourceVersionMatch", "NotOlderThan"))

SCRIPTS: dict[str, Script] = {
    "what happened since a version": (
        post(MAPS, a_map("one", x="1")),
        merge(f"{MAPS}/one", {"data": {"x": "2"}}),
        post(MAPS, a_map("two")),
        delete(f"{MAPS}/one"),
        watch(MAPS, FROM_FIRST, OURS),
    ),
    "objects that enter and leave the selection": (
        post(MAPS, a_map("one", {"app": "web"})),
        post(MAPS, a_map("two", {"app": "db"})),
        merge(f"{MAPS}/one", {"metadata": {"labels": {"app": "db"}}}),
        merge(f"{MAPS}/one", {"data": {"x": "1"}}),
        merge(f"{MAPS}/one", {"metadata": {"labels": {"app": "web"}}}),
        delete(f"{MAPS}/one"),
        delete(f"{MAPS}/two"),
        watch(MAPS, FROM_FIRST, ("labelSelector", "app=web")),
        watch(MAPS, FROM_FIRST, ("fieldSelector", "metadata.name=two")),
    ),
    "a watch from nowhere shows what is there": (
        post(MAPS, a_map("b")),
        post(MAPS, a_map("a")),
        watch(MAPS, OURS),
        watch(MAPS, OURS, ("resourceVersion", "0")),
    ),
    "a streamed list": (
        post(MAPS, a_map("b")),
        post(MAPS, a_map("a")),
        merge(f"{MAPS}/a", {"data": {"x": "2"}}),
        watch(MAPS, OURS, BOOKMARKS, *STREAMED, hides=("resourceVersion",)),
    ),
    "a streamed list without bookmarks": (
        post(MAPS, a_map("b")),
        watch(MAPS, OURS, *STREAMED, hides=("resourceVersion",)),
    ),
    "a streamed list that was not asked for rightly": (
        watch(MAPS, ("sendInitialEvents", "true")),
        watch(MAPS, ("sendInitialEvents", "true"), ("resourceVersionMatch", "Exact"), ("resourceVersion", "5")),
        watch(MAPS, ("resourceVersionMatch", "NotOlderThan")),
        get(MAPS, ("sendInitialEvents", "true")),
    ),
    "a version that is yet to come": (watch(MAPS, ("resourceVersion", "999999999"), hides=("message",)),),
    "a streamed list that is yet to come": (
        watch(MAPS, BOOKMARKS, *STREAMED, ("resourceVersion", "999999999"), hides=("message",)),
    ),
    "a watch that is none": (
        watch(MAPS, ("resourceVersion", "wonder")),
        watch(MAPS, ("fieldSelector", "data.x=1")),
        watch(MAPS, ("labelSelector", "app=("), hides=("message",)),
    ),
}
