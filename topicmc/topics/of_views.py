"""What a view shows of its run, in shares of the tokens."""

from __future__ import annotations

from typing import Any

from topicmc.models.lda.run import TopicRun
from topicmc.models.lda.samples import posterior_mean
from topicmc.topics.labels import Labels
from topicmc.topics.uncertainty import Posterior


def facts_of(run: TopicRun, posterior: Posterior | None = None) -> dict[str, Any]:
    """As JSON values: the folder of the run, how many topics of how many are shown, what was merged
    and dropped, and the groups; nothing of a run that is no view.

    Shares of the tokens are the posterior mean of the first chain. If there is a ``posterior`` of
    the run and others, those of merged topics and groups are of all chains that have found them,
    those of groups with intervals, and that of what is dropped is of the samples of the first.
    """
    if run.view is None:
        return {}
    view = run.view
    if posterior is None:
        share = of_first = posterior_mean(run).share
    else:
        share, of_first = posterior.share, posterior.chains[0].share.mean(axis=0)
    place = {number: column for column, number in enumerate(view.numbers)}
    groups = []
    for name, members in view.groups.items():
        columns = [place[number] for number in members]
        told: dict[str, Any] = {"group": name, "topics": list(members)}
        if posterior is None:
            told["share"] = float(share[columns].sum())
        else:
            told |= posterior.of_group(columns)
        groups.append(told)
    return {
        "run": run.path.resolve().name,
        "shown": len(view.numbers),
        "of": view.n_topics,
        "merged": [
            {"topics": list(part), "share": float(share[place[part[0]]])} for part in view.merged
        ],
        "dropped": {
            "topics": list(view.dropped),
            "share": max(0.0, 1 - float(of_first.sum())) if view.dropped else 0.0,
        },
        "groups": groups,
    }


def sentences(run: TopicRun, posterior: Posterior | None = None) -> list[str]:
    """The same for people; nothing of a run that is no view."""
    facts = facts_of(run, posterior)
    if not facts:
        return []
    labels = Labels.of(run)
    tags = {number: labels.tag(column) for column, number in enumerate(labels.numbers)}
    told = [f"A view of {facts['run']}, which shows its {facts['of']} topics as {facts['shown']}."]
    for merge in facts["merged"]:
        parts, home = " + ".join(map(str, merge["topics"])), tags[merge["topics"][0]]
        told.append(f"Merged: {parts} as {home}, {merge['share']:.1%} of the tokens.")
    if facts["dropped"]["topics"]:
        numbers = ", ".join(map(str, facts["dropped"]["topics"]))
        told.append(f"Dropped: {numbers}, {facts['dropped']['share']:.1%} of the tokens.")
    for group in facts["groups"]:
        members = ", ".join(tags[k] for k in group["topics"])
        told.append(f"Group {group['group']}: {_share(group)}, {members}.")
    return told


def _share(group: dict[str, Any]) -> str:
    """A group's share and its interval, as far as they can be told."""
    share, low, high = (group.get(name) for name in ("share", "share_low", "share_high"))
    if share is None:
        return "cannot be told"
    if low is None or high is None:
        return f"{share:.1%}"
    return f"{share:.1%} ({100 * low:.1f}–{high:.1%})"
